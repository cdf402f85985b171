//! The declarations of the API for worlds in TypeScript, from the same table as the types for Luau. Generic types, which Luau's
//! types do not have, come from `packages/world-script/types/language.d.ts`.

use std::fmt::Write as _;

use nowcast_script::{ApiEntry, TYPES, api_entries, names_of};

use super::notation::{Member, Parameter, Ty, read};

/// Names of players that other entities do not have.
const OF_PLAYERS: [&str; 13] = [
    "avatar",
    "name",
    "is_program",
    "roles",
    "account",
    "saved",
    "has_role",
    "spawn_avatar",
    "tell",
    "kick",
    "ban",
    "send_to",
    "control",
];

/// Declarations with types that Luau does not have: the owner and the name of the entry, and the declaration.
const DECLARED: [(&str, &str, &str); 32] = [
    (
        "World",
        "kind",
        "function kind<const N extends string, const A extends AttributeTypes = {}, const J extends boolean = false>(this: void, name: N, fields?: Omit<KindFields, \"attributes\" | \"walker\"> & { attributes?: A; walker?: WalkerFields & { adjustable?: J } }): Kind<J extends true ? A & Adjusted : A, N>;",
    ),
    ("World", "state", "const state: StateOfWorld;"),
    (
        "World",
        "saved",
        "function saved<T extends object>(this: void, options: { default: T; version?: number; upgrade?: (this: void, data: any, version: number) => T }): void;",
    ),
    (
        "World",
        "on",
        "function on<E extends keyof WorldHooks>(this: void, event: E, fn: WorldHooks[E]): void;",
    ),
    (
        "World",
        "action",
        "function action<const N extends string, const A extends AttributeTypes>(this: void, name: N, argumentTypes: A, fn: (this: void, player: Player, values: Values<A>) => void, binding?: BindingFields): ActionName<A, N>;",
    ),
    (
        "World",
        "command",
        "function command<const C extends readonly CommandArgument[] = []>(this: void, name: string, options: { help?: string; arguments?: C; roles?: readonly string[] }, fn: (this: void, player: Player, ...values: CommandValues<C>) => string | undefined | void): void;",
    ),
    (
        "World",
        "event",
        "function event<const N extends string, const A extends AttributeTypes>(this: void, name: N, fields: A): EventName<Values<A>> & Declared<\"event\", A, N>;",
    ),
    (
        "World",
        "timer",
        "function timer<D = undefined>(this: void, name: string, fn: (this: void, data: D) => void): TimerName<D>;",
    ),
    (
        "World",
        "after",
        "function after<N extends string>(this: void, seconds: number, name: N, ...data: TimerData<N>): number;",
    ),
    (
        "World",
        "every",
        "function every<N extends string>(this: void, seconds: number, name: N, ...data: TimerData<N>): number;",
    ),
    (
        "World",
        "emit",
        "function emit<N extends string>(this: void, name: N, payload: EventData<N>, options?: { to?: Player; near?: Vector; radius?: number }): void;",
    ),
    ("World", "players", "function players(this: void, tag?: string): Player[];"),
    ("World", "programs", "function programs(this: void): Player[];"),
    ("World", "rewound", "function rewound<T>(this: void, player: Player, fn: (this: void) => T): T;"),
    (
        "World",
        "path",
        "function path<P extends Cell | Vector>(this: void, grid: Grid, from: P, to: P): P[] | undefined;",
    ),
    ("Kind", "name", "readonly name: N;"),
    ("Kind", "spawn", "spawn(fields?: SpawnFields & Partial<Values<A>>): EntityOf<A>;"),
    ("Kind", "on", "on<E extends keyof KindHooks<A>>(event: E, fn: KindHooks<A>[E]): void;"),
    ("Kind", "all", "all(): EntityOf<A>[];"),
    ("Kind", "is", "is(entity: Entity | undefined): entity is EntityOf<A>;"),
    (
        "Entity",
        "spawn_avatar",
        "spawn_avatar<A extends AttributeTypes>(kind: Kind<A>, fields?: SpawnFields & Partial<Values<A>>): EntityOf<A>;",
    ),
    ("Entity", "player", "readonly player?: Player;"),
    ("Entity", "owner", "owner?: Player;"),
    ("Entity", "saved", "saved: keyof Saved extends never ? any : Saved;"),
    ("Entity", "roles", "readonly roles: readonly string[];"),
    (
        "Test",
        "join",
        "function join(this: void, name?: string, roles?: readonly string[], account?: string): TestPlayer;",
    ),
    (
        "Test",
        "join_program",
        "function join_program(this: void, name?: string, roles?: readonly string[], account?: string): TestPlayer;",
    ),
    (
        "Test",
        "wait_until",
        "function wait_until<T>(this: void, condition: (this: void) => T, seconds?: number): NonNullable<T>;",
    ),
    ("Test", "equal", "function equal<T>(this: void, found: T, expected: T, label?: string): void;"),
    ("Test", "screen", "function screen(this: void, place: string, player?: Player): any;"),
    ("teams", "members", "function members(this: void, name: string): Player[];"),
    ("vehicles", "enter", "function enter(this: void, player: Player, vehicle: Entity): Entity;"),
];

/// Types of fields that are more exact than those of Luau: the owner, the name of the field, and the type.
const FIELDS: [(&str, &str, &str); 23] = [
    ("LightFields", "type", "\"point\" | \"spot\" | \"sun\""),
    ("CameraFields", "mode", "\"follow\" | \"first_person\" | \"fixed\" | \"rail\""),
    ("KindFields", "attributes", "AttributeTypes"),
    ("KindFields", "interest", "Interest"),
    ("KindFields", "formerly", "string | string[]"),
    ("BodyFields", "motion", "\"dynamic\" | \"fixed\" | \"kinematic\" | \"sensor\""),
    (
        "ShapeFields",
        "shape",
        "\"box\" | \"sphere\" | \"capsule\" | \"cylinder\" | \"cone\" | \"hull\" | \"mesh\" | \"heights\" | \"compound\"",
    ),
    ("ShapeFields", "parts", "ShapeFields[]"),
    ("OwnerFields", "by", "\"player\" | \"program\" | \"anyone\""),
    ("OwnerFields", "beyond", "\"refuse\""),
    ("OwnerFields", "leave", "\"release\" | \"keep\" | \"despawn\""),
    ("BindingFields", "key", "string | readonly string[]"),
    ("BindingFields", "of", "Kind | string | readonly (Kind | string)[]"),
    ("BindingFields", "predict", "\"grab\" | \"throw\" | \"launch\""),
    ("CommandFields", "arguments", "readonly CommandArgument[]"),
    (
        "PanelFields",
        "at",
        "\"top_left\" | \"top\" | \"top_right\" | \"left\" | \"center\" | \"right\" | \"bottom_left\" | \"bottom\" | \"bottom_right\" | \"entity\"",
    ),
    ("PartFields", "[number]", "any"),
    ("SpawnFields", "scale", "Vector | number"),
    ("JointFields", "type", "\"fixed\" | \"ball\" | \"hinge\" | \"slider\" | \"spring\""),
    ("MoveFields", "easing", "\"in_out\" | \"linear\" | \"in\" | \"out\""),
    ("PathFields", "easing", "\"in_out\" | \"linear\" | \"in\" | \"out\""),
    ("Filter", "motion", "\"dynamic\" | \"fixed\" | \"kinematic\" | \"sensor\""),
    ("Entity", "tags", "readonly string[]"),
];

/// Fields that only TypeScript needs, because its tables do not have both an order and names.
const ADDED: [(&str, &str); 1] =
    [("PartFields", "type: \"text\" | \"button\" | \"bar\" | \"list\" | \"input\" | \"picture\"")];

/// Names that TypeScript reserves. Such a function is declared under another name, and exported under its own.
const RESERVED: [&str; 1] = ["case"];

const HEAD: &str =
    "// The API of worlds. Made by crates/script/tests/reference: changes of this file are lost.\n";

/// Returns the declarations of `@nowcast/world`, `@nowcast/test` and the library for worlds in TypeScript, as one file of
/// ambient modules.
pub(super) fn typescript_types() -> String {
    let mut text = String::from(HEAD);
    text.push_str("\n/** @noResolution */\ndeclare module \"@nowcast/world\" {\n");
    write_module(&mut text, "World");
    write_interface(
        &mut text,
        "Kind",
        "Kind<A extends AttributeTypes = any, N extends string = string>",
        |_| true,
    );
    let is_of_players = |name: &str| OF_PLAYERS.contains(&name);
    write_interface(&mut text, "Entity", "Entity", |name| !is_of_players(name));
    write_interface(&mut text, "Entity", "Player extends Entity", is_of_players);
    write_interface(&mut text, "Panel", "Panel", |_| true);
    api_entries("").iter().for_each(|entry| write_alias(&mut text, entry));
    text.push_str("}\n");
    for (module, _) in &TYPES[1..] {
        let _ = write!(
            text,
            "\n/** @noResolution */\ndeclare module \"@nowcast/{module}\" {{\n  \
             import type {{ Entity, GridFields, Kind, KindFields, Player, SpawnFields, TestPlayer }} from \"@nowcast/world\";\n"
        );
        write_module(&mut text, if *module == "test" { "Test" } else { module });
        text.push_str("}\n");
    }
    text
}

fn write_doc(text: &mut String, indent: &str, doc: &str) {
    let _ = writeln!(text, "\n{indent}/** {} */", doc.replace("*/", "* /"));
}

fn write_module(text: &mut String, of: &str) {
    for entry in api_entries(of) {
        write_doc(text, "  ", entry.doc);
        let name = entry.name;
        if let Some(declared) = declared(of, name) {
            let _ = writeln!(text, "  export {declared}");
        } else if let Ty::Function(parameters, result) = read(entry.ty) {
            let list = parameter_list(&parameters, true);
            let result = show(&result);
            if RESERVED.contains(&name) {
                let _ = writeln!(
                    text,
                    "  function {name}_({list}): {result};\n  export {{ {name}_ as {name} }};"
                );
            } else {
                let _ = writeln!(text, "  export function {name}({list}): {result};");
            }
        } else {
            let _ = writeln!(text, "  export const {name}: {};", show(&read(entry.ty)));
        }
    }
}

fn write_interface(text: &mut String, of: &str, head: &str, has: impl Fn(&str) -> bool) {
    let _ = writeln!(text, "\n  export interface {head} {{");
    for entry in api_entries(of).iter().filter(|entry| has(entry.name)) {
        write_doc(text, "    ", entry.doc);
        let name = entry.name;
        if let Some(declared) = declared(of, name) {
            let _ = writeln!(text, "    {declared}");
            continue;
        }
        match read(entry.ty) {
            Ty::Function(parameters, result) => {
                let list = parameter_list(&parameters[1..], false);
                let _ = writeln!(text, "    {name}({list}): {};", show(&result));
            }
            ty => {
                let readonly = if entry.doc.contains("Read only") { "readonly " } else { "" };
                let _ = writeln!(text, "    {readonly}{};", show_member(of, name, &ty));
            }
        }
    }
    text.push_str("  }\n");
}

fn write_alias(text: &mut String, entry: &ApiEntry) {
    write_doc(text, "  ", entry.doc);
    let name = entry.name;
    match read(entry.ty) {
        Ty::Table(members) => {
            let _ = writeln!(
                text,
                "  export interface {name} {{\n    {};\n  }}",
                members_of(name, &members).join(";\n    ")
            );
        }
        ty => {
            let _ = writeln!(text, "  export type {name} = {};", show_in(name, &ty));
        }
    }
}

fn declared(of: &str, name: &str) -> Option<&'static str> {
    DECLARED.iter().find(|entry| (entry.0, entry.1) == (of, name)).map(|entry| entry.2)
}

fn members_of(of: &str, members: &[Member]) -> Vec<String> {
    // A table with names and with other keys: TypeScript refuses unknown names, so only the names are declared.
    let has_names = members.iter().any(|member| !member.name.starts_with('['));
    let added = ADDED.iter().filter(|(owner, _)| *owner == of).map(|(_, field)| (*field).to_owned());
    let named = members.iter().filter(|member| !has_names || !member.name.starts_with('['));
    added.chain(named.map(|member| show_member(of, &member.name, &member.ty))).collect()
}

/// Shows a field with its name.
fn show_member(of: &str, name: &str, ty: &Ty) -> String {
    let (mark, inner) = match ty {
        Ty::Optional(inner) => ("?", &**inner),
        other => ("", other),
    };
    if let Some((_, _, exact)) = FIELDS.iter().find(|field| (field.0, field.1) == (of, name)) {
        // Every field of the type `any` may be nil.
        let mark = if matches!(inner, Ty::Name(any) if any == "any") { "?" } else { mark };
        return format!("{name}{mark}: {exact}");
    }
    match name.strip_prefix('[') {
        Some(key) => format!("[key: {}: {}", key, show(ty)),
        None => format!("{name}{mark}: {}", show_named(name, inner)),
    }
}

/// Shows a type. Players have a type of their own, which Luau's notation shows only by the name.
fn show_named(name: &str, ty: &Ty) -> String {
    match ty {
        Ty::Name(entity) if entity == "Entity" && name == "player" => "Player".to_owned(),
        Ty::Optional(inner) => format!("{} | undefined", show_named(name, inner)),
        ty => show_in(name, ty),
    }
}

fn show(ty: &Ty) -> String {
    show_in("", ty)
}

/// Shows a type that belongs to the name `of`.
fn show_in(of: &str, ty: &Ty) -> String {
    match ty {
        Ty::Nothing => "void".to_owned(),
        Ty::Name(name) => match name.as_str() {
            "vector" => "Vector".to_owned(),
            "nil" => "undefined".to_owned(),
            name => name.to_owned(),
        },
        Ty::Optional(inner) => format!("{} | undefined", in_brackets(of, inner)),
        Ty::List(inner) => format!("{}[]", in_brackets(of, inner)),
        Ty::Table(members) => format!("{{ {} }}", members_of(of, members).join("; ")),
        Ty::Function(parameters, result) => {
            format!("({}) => {}", parameter_list(parameters, true), show(result))
        }
        Ty::Union(types) => types.iter().map(|ty| in_brackets(of, ty)).collect::<Vec<_>>().join(" | "),
        Ty::Both(types) => types.iter().map(|ty| in_brackets(of, ty)).collect::<Vec<_>>().join(" & "),
    }
}

fn in_brackets(of: &str, ty: &Ty) -> String {
    let shown = show_in(of, ty);
    let is_simple = !matches!(ty, Ty::Function(..) | Ty::Union(_) | Ty::Both(_) | Ty::Optional(_));
    if is_simple { shown } else { format!("({shown})") }
}

fn parameter_list(parameters: &[Parameter], is_free: bool) -> String {
    let mut shown: Vec<String> = Vec::new();
    let last_needed = parameters
        .iter()
        .rposition(|parameter| !matches!(parameter.ty, Ty::Optional(_)) && parameter.name != "...");
    for (at, Parameter { name, ty }) in parameters.iter().enumerate() {
        shown.push(match ty {
            _ if name == "..." => format!("...values: {}[]", show(ty)),
            Ty::Optional(inner) if last_needed.is_none_or(|last| at > last) => {
                format!("{name}?: {}", show_named(name, inner))
            }
            ty => format!("{}: {}", if name.is_empty() { "value" } else { name }, show_named(name, ty)),
        });
    }
    if is_free {
        shown.insert(0, "this: void".to_owned());
    }
    shown.join(", ")
}

#[test]
fn every_exact_type_belongs_to_a_name_of_the_reference() {
    for (of, name, _) in DECLARED {
        assert!(names_of(of).contains(&name), "{of}.{name}");
    }
    for name in OF_PLAYERS {
        assert!(names_of("Entity").contains(&name), "{name}");
    }
    let text = typescript_types();
    for (of, name, exact) in FIELDS {
        let is_there =
            text.contains(&format!("{name}?: {exact}")) || text.contains(&format!("{name}: {exact}"));
        assert!(is_there || name.starts_with('['), "{of}.{name}");
    }
}

#[test]
fn a_type_of_luau_has_its_form_in_typescript() {
    for (luau, typescript) in [
        ("{ Entity }", "Entity[]"),
        ("(number | { number })?", "(number | number[]) | undefined"),
        ("{ [string]: any }", "{ [key: string]: any }"),
        ("(a: Entity?, player: Entity) -> ()", "(this: void, a: Entity | undefined, player: Player) => void"),
        (
            "(to: vector, turn: number?) -> { number }?",
            "(this: void, to: Vector, turn?: number) => number[] | undefined",
        ),
        ("(...any) -> any", "(this: void, ...values: any[]) => any"),
    ] {
        assert_eq!(show(&read(luau)), typescript);
    }
}
