//! The names of a module: its scopes, and the meanings of the names in them.

use std::collections::{BTreeMap, BTreeSet};

use nowcast_script::{LIBRARY, Sources, Token, absence, closest, module_called};
use nowcast_world::Definition;

use crate::Finding;
use crate::types::{NoField, Type};

/// The known facts about a version while one of its modules is read.
pub(crate) struct Version<'a> {
    pub(crate) sources: &'a Sources,
    pub(crate) definition: &'a Definition,
    /// Global names. Each library name has its fields.
    pub(crate) globals: &'a BTreeMap<String, Vec<String>>,
    /// Names that are set in `world.state`, by any module.
    pub(crate) states: &'a BTreeSet<String>,
}

/// A call that names something of the whole world, such as an action or a module.
pub(crate) struct Use {
    /// The function: `action`, `kind`, `timer`, `after`, `every` or `require`.
    pub(crate) function: String,
    /// The name; `None` if it is computed.
    pub(crate) name: Option<String>,
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// Resolves the names of one module. [`crate::parser`] reads the text of the module and calls the resolver.
pub(crate) struct Resolver<'a> {
    path: &'a str,
    pub(crate) version: &'a Version<'a>,
    pub(crate) is_strict: bool,
    scopes: Vec<BTreeMap<String, Type>>,
    /// Locals that are assigned somewhere, so that the text does not show their type.
    pub(crate) assigned: BTreeSet<String>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) uses: Vec<Use>,
    /// Locals of the module that functions change.
    pub(crate) resets: Vec<Finding>,
    /// Number of functions around the current place.
    pub(crate) functions: usize,
}

impl<'a> Resolver<'a> {
    /// `assigned` are the local variables that an earlier pass over the module found to be assigned.
    pub(crate) fn new(
        path: &'a str,
        version: &'a Version<'a>,
        is_strict: bool,
        assigned: BTreeSet<String>,
    ) -> Resolver<'a> {
        let scopes = vec![BTreeMap::new()];
        let (findings, uses, resets) = (Vec::new(), Vec::new(), Vec::new());
        Resolver { path, version, is_strict, scopes, assigned, findings, uses, resets, functions: 0 }
    }

    pub(crate) fn open_scope(&mut self) {
        self.scopes.push(BTreeMap::new());
    }

    pub(crate) fn close_scope(&mut self) {
        self.scopes.pop();
    }

    /// Declares a local in the innermost scope.
    pub(crate) fn declare(&mut self, name: &str, ty: Type) {
        let ty = if self.assigned.contains(name) { Type::Unknown } else { ty };
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), ty);
        }
    }

    /// Resolves a name that is assigned, or declared as a function without `local`.
    pub(crate) fn assign(&mut self, name: &Token, cure: &str) {
        if self.scopes.iter().any(|scope| scope.contains_key(&name.text)) {
            self.assigned.insert(name.text.clone());
            return self.change(name);
        }
        let message = format!(
            "`{}` is not defined, and globals cannot be set; {cure}, or store lasting values in `world.state`",
            name.text
        );
        self.find(name, true, message);
    }

    /// Notes that a statement changes the value of a local, or a field of this value. After a reload, after a restart and on
    /// another server, a local of the module that a function changes has its first value again. A change through another name
    /// of the same table is not found.
    pub(crate) fn change(&mut self, name: &Token) {
        let scope = self.scopes.iter().rposition(|scope| scope.contains_key(&name.text));
        if scope != Some(0) || self.functions == 0 || self.is_test() {
            return;
        }
        // A reload keeps `world.state`.
        if matches!(self.scopes[0].get(&name.text), Some(Type::World | Type::State)) {
            return;
        }
        let message = format!(
            "a reload resets `{}`; keep values that must last in `world.state` or `private`",
            name.text
        );
        if !self.resets.iter().any(|known| known.message == message) {
            let reset = self.finding(name, false, message);
            self.resets.push(reset);
        }
    }

    /// Notes a call that names something of the whole world.
    pub(crate) fn use_name(&mut self, function: &str, place: &Token, name: Option<&Token>) {
        if function != "require" && self.is_test() {
            return;
        }
        let Token { line, column, .. } = *name.unwrap_or(place);
        let name = name.map(|name| name.text.clone());
        self.uses.push(Use { function: function.to_owned(), name, file: self.path.to_owned(), line, column });
    }

    fn is_test(&self) -> bool {
        self.path.starts_with("tests/")
    }

    /// Resolves a name that is read.
    pub(crate) fn read(&mut self, token: &Token) -> Type {
        let name = token.text.as_str();
        if let Some(ty) = self.scopes.iter().rev().find_map(|scope| scope.get(name)) {
            return ty.clone();
        }
        let globals = self.version.globals;
        if globals.contains_key(name) {
            return Type::Library(name.to_owned());
        }
        let message = match (absence(name), module_called(self.version.sources, self.path, name)) {
            (Some(why), _) => why.to_owned(),
            (None, Some(module)) => format!(
                "`{name}` is not defined; write local {name} = require(\"{module}\") at the top of the file"
            ),
            (None, None) => {
                let locals = self.scopes.iter().flat_map(|scope| scope.keys().map(String::as_str));
                let known: Vec<&str> = locals.chain(globals.keys().map(String::as_str)).collect();
                match closest(name, &known) {
                    Some(meant) => format!("`{name}` is not defined; did you mean `{meant}`?"),
                    None => format!("`{name}` is not defined; declare it above with `local`"),
                }
            }
        };
        self.find(token, true, message);
        Type::Unknown
    }

    /// Resolves a field of a value.
    pub(crate) fn field(&mut self, of: &Type, name: &Token, is_set: bool) -> Type {
        let field = name.text.as_str();
        match of {
            Type::Library(library) => {
                if let Some(why) = absence(&format!("{library}.{field}")) {
                    self.find(name, true, why.to_owned());
                } else if library != "_G" // which has every global name
                    && let Some(known) = self.version.globals.get(library)
                    && !(known.is_empty() || known.iter().any(|known| known == field))
                {
                    let meant = nowcast_script::instead(field, known);
                    self.find(name, true, format!("`{library}` has no `{field}`; {meant}"));
                }
                Type::Function(Box::new(of.clone()), field.to_owned())
            }
            Type::State => {
                if !is_set && !self.version.states.contains(field) {
                    let known: Vec<&str> = self.version.states.iter().map(String::as_str).collect();
                    let meant = closest(field, &known).map(|meant| format!("did you mean `{meant}`? "));
                    let message = format!(
                        "nothing sets `world.state.{field}`, so it is nil; {}world.state {{ {field} = … }} declares it",
                        meant.unwrap_or_default()
                    );
                    self.find(name, self.is_strict, message);
                }
                Type::Unknown
            }
            of => match of.field(field, self.version.definition) {
                Ok(ty) => ty,
                Err(NoField { message, is_error }) => {
                    self.find(name, is_error || self.is_strict, message);
                    Type::Unknown
                }
            },
        }
    }

    /// Returns the kind that a call of `world.kind` with this name returns.
    pub(crate) fn kind(&self, name: Option<&str>) -> Type {
        let kinds = &self.version.definition.kinds;
        Type::Kind(name.and_then(|name| kinds.iter().position(|kind| kind.name == name)))
    }

    pub(crate) fn find(&mut self, token: &Token, is_error: bool, message: String) {
        let finding = self.finding(token, is_error, message);
        self.findings.push(finding);
    }

    fn finding(&self, token: &Token, is_error: bool, message: String) -> Finding {
        Finding { file: self.path.to_owned(), line: token.line, column: token.column, is_error, message }
    }
}

/// Returns the names in `world.state`: names with initial values, and names that a module sets.
pub(crate) fn states(sources: &Sources, definition: &Definition) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if let nowcast_world::Value::Map(fields) = &definition.state {
        names.extend(fields.iter().filter_map(|(name, _)| name.as_text()).map(str::to_owned));
    }
    for (_, text) in sources.iter() {
        for rest in text.split("state.").skip(1) {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            let after = rest[end..].trim_start();
            let is_set = after.starts_with(',') || after.starts_with('=') && !after.starts_with("==");
            if is_set {
                names.insert(rest[..end].to_owned());
            }
        }
    }
    names
}

/// Returns the type of the value that a call of `require` returns.
pub(crate) fn required(module: &str) -> Type {
    match module {
        "@nowcast/world" => Type::World,
        "@nowcast/test" => Type::Test,
        _ => match LIBRARY.iter().find(|(name, _)| *name == module) {
            Some((name, _)) => Type::Module(name.trim_start_matches("@nowcast/")),
            None => Type::Unknown,
        },
    }
}
