//! The plan for decoding messages of a writer's shape into a reader's type. It is resolved once, by names, before any message
//! is read.

use crate::error::{Error, ErrorKind, Result};
use crate::limits::DEPTH_MAX;
use crate::shape::{Census, DefinitionKind, Field, NumberType, Shape, Type, Variant};

/// A writer's shape, with the properties of each definition that blocks need.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) shape: Shape,
    census: Vec<Census>,
}

impl Layout {
    pub(crate) fn new(shape: Shape) -> Self {
        let definitions = 0..shape.definitions.len() as u32;
        let census = definitions.map(|index| shape.census(&Type::Ref(index))).collect();
        Self { shape, census }
    }

    pub(crate) fn census(&self, ty: &Type) -> Census {
        match ty {
            Type::Ref(index) => self.census[*index as usize],
            // A type that is not a reference has one leaf. Only an array depends on its elements.
            _ => self.shape.census(ty),
        }
    }

    pub(crate) fn bits(&self, ty: &Type) -> usize {
        match ty {
            Type::Ref(index) => self.census[*index as usize].bits,
            Type::Bool | Type::Option(_) => 1,
            _ => 0,
        }
    }

    pub(crate) fn fields_bits(&self, fields: &[Field]) -> usize {
        fields.iter().map(|field| self.bits(&field.ty)).sum()
    }
}

/// A reader's type that was resolved against a writer's shape.
#[derive(Clone, Debug)]
pub(crate) struct Resolution {
    pub(crate) layout: Layout,
    nodes: Vec<Node>,
    /// For each node, the number of bits that a row of the writer's type takes in a plain block.
    bits: Vec<usize>,
    root: u32,
}

/// How a type of the reader is read from a type of the writer.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// The writer's type is the same as the reader's.
    Same,
    /// The writer's type is another scalar, which is converted.
    Source(Type),
    Struct(Vec<Step>),
    Enum(Vec<VariantStep>),
    Option(u32),
    /// The reader has an option, and the writer always has the value.
    Always(u32),
    /// The writer has an option, and the reader always needs a value. An absent value becomes the empty value.
    OrEmpty(u32),
    List(u32),
    /// The writer has an array, which is read as a list.
    ArrayAsList(u32, u32),
    Array(u32),
    ListAsArray(u32),
    Map(u32, u32),
    /// The node is being resolved.
    Open,
}

/// One field of the writer.
#[derive(Clone, Debug)]
pub struct Step {
    /// The index of the reader's field; `None` if the reader does not have it.
    pub target: Option<usize>,
    pub(crate) name: String,
    pub(crate) ty: Type,
    node: u32,
}

/// One variant of the writer.
#[derive(Clone, Debug)]
pub struct VariantStep {
    /// The index of the reader's variant; `None` if the reader does not have it.
    pub target: Option<usize>,
    /// The name.
    pub name: String,
    pub(crate) steps: Vec<Step>,
    pub(crate) bits: usize,
}

/// A position in a resolution. Columns receive it when they are opened.
#[derive(Clone, Copy)]
pub struct Plan<'p> {
    resolution: &'p Resolution,
    node: &'p Node,
    bits: usize,
}

impl Resolution {
    /// Resolves a reader's shape against a writer's.
    pub(crate) fn new(writer: Shape, reader: &Shape) -> Result<Self> {
        let layout = Layout::new(writer);
        let mut resolver = Resolver {
            layout: &layout,
            reader,
            nodes: Vec::new(),
            bits: Vec::new(),
            known: Vec::new(),
            depth: 0,
        };
        let root = resolver.types(&layout.shape.root, &reader.root)?;
        let (nodes, bits) = (resolver.nodes, resolver.bits);
        Ok(Self { layout, nodes, bits, root })
    }

    /// Returns the plan of the root; `None` if the writer's type equals the reader's.
    pub(crate) fn plan(&self) -> Option<Plan<'_>> {
        self.at(self.root)
    }

    fn at(&self, index: u32) -> Option<Plan<'_>> {
        match &self.nodes[index as usize] {
            Node::Same => None,
            node => Some(Plan { resolution: self, node, bits: self.bits[index as usize] }),
        }
    }
}

impl<'p> Plan<'p> {
    pub(crate) fn node(self) -> &'p Node {
        self.node
    }

    pub(crate) fn layout(self) -> &'p Layout {
        &self.resolution.layout
    }

    /// How many bits a row with the writer's type takes in a plain block.
    pub fn bits(self) -> usize {
        self.bits
    }

    /// The writer's fields.
    pub fn steps(self) -> &'p [Step] {
        match self.node {
            Node::Struct(steps) => steps,
            _ => &[],
        }
    }

    /// The writer's variants.
    pub fn variants(self) -> &'p [VariantStep] {
        match self.node {
            Node::Enum(variants) => variants,
            _ => &[],
        }
    }

    /// Returns the plan of a field; `None` if the writer's type equals the reader's.
    pub fn field(self, step: &'p Step) -> Option<Plan<'p>> {
        self.resolution.at(step.node)
    }

    /// The plan of a variant's payload.
    pub fn payload(self, step: &'p VariantStep) -> PayloadPlan<'p> {
        PayloadPlan { plan: self, steps: &step.steps, bits: step.bits }
    }

    /// Returns the plan of an element; `None` if the writer's type equals the reader's.
    pub(crate) fn child(self, node: u32) -> Option<Plan<'p>> {
        self.resolution.at(node)
    }
}

impl<'p> PayloadPlan<'p> {
    /// Returns the plan of a struct's own fields.
    pub fn of_struct(plan: Plan<'p>) -> Self {
        Self { plan, steps: plan.steps(), bits: plan.bits() }
    }
}

/// The plan of a variant's payload. A payload is like a struct without a definition.
#[derive(Clone, Copy)]
pub struct PayloadPlan<'p> {
    /// The plan of the enum.
    pub plan: Plan<'p>,
    /// The writer's fields.
    pub steps: &'p [Step],
    /// Number of bits that a row takes in a plain block.
    pub bits: usize,
}

struct Resolver<'s> {
    layout: &'s Layout,
    reader: &'s Shape,
    nodes: Vec<Node>,
    bits: Vec<usize>,
    /// Pairs of definitions that have been visited, and their nodes.
    known: Vec<(u32, u32, u32)>,
    depth: usize,
}

impl Resolver<'_> {
    fn push(&mut self, node: Node) -> u32 {
        self.nodes.push(node);
        self.bits.push(0);
        self.nodes.len() as u32 - 1
    }

    /// Returns the node that `make` makes of a child. Returns `Same` if the child is the same and the parents also agree.
    fn wrap(&mut self, child: u32, make: impl FnOnce(u32) -> Node) -> u32 {
        let node = match self.nodes[child as usize] {
            Node::Same => Node::Same,
            _ => make(child),
        };
        self.push(node)
    }

    fn types(&mut self, writer: &Type, reader: &Type) -> Result<u32> {
        if self.depth == 4 * DEPTH_MAX {
            return Err(Error::new(ErrorKind::Depth { max: 4 * DEPTH_MAX }));
        }
        self.depth += 1;
        let node = self.nested(writer, reader)?;
        self.depth -= 1;
        self.bits[node as usize] = self.layout.bits(writer);
        Ok(node)
    }

    fn nested(&mut self, writer: &Type, reader: &Type) -> Result<u32> {
        use Type as T;
        Ok(match (writer, reader) {
            (T::Ref(writer), T::Ref(reader)) => self.definitions(*writer, *reader)?,
            (T::Option(writer), T::Option(reader)) => {
                let child = self.types(writer, reader)?;
                self.wrap(child, Node::Option)
            }
            (_, T::Option(reader)) => {
                let child = self.types(writer, reader)?;
                self.push(Node::Always(child))
            }
            (T::Option(inner), reader) if is_scalar(reader) && !matches!(**inner, T::Option(_)) => {
                let child = self.types(inner, reader)?;
                self.push(Node::OrEmpty(child))
            }
            (T::List(writer), T::List(reader)) => {
                let child = self.types(writer, reader)?;
                self.wrap(child, Node::List)
            }
            (T::Array(count, writer), T::List(reader)) => {
                let child = self.types(writer, reader)?;
                self.push(Node::ArrayAsList(*count, child))
            }
            (T::List(writer), T::Array(_, reader)) => {
                let child = self.types(writer, reader)?;
                self.push(Node::ListAsArray(child))
            }
            (T::Array(count, writer), T::Array(expected, reader)) => {
                if count != expected {
                    return Err(Error::new(ErrorKind::ArrayLength {
                        expected: *expected as usize,
                        found: u64::from(*count),
                    }));
                }
                let child = self.types(writer, reader)?;
                self.wrap(child, Node::Array)
            }
            (T::Map(key, value), T::Map(reader_key, reader_value)) => {
                let key = self.types(key, reader_key)?;
                let value = self.types(value, reader_value)?;
                let same = |node: u32| matches!(self.nodes[node as usize], Node::Same);
                let map = if same(key) && same(value) { Node::Same } else { Node::Map(key, value) };
                self.push(map)
            }
            (writer, reader) if writer == reader => self.push(Node::Same),
            (writer, reader) if converts(writer, reader) => self.push(Node::Source(writer.clone())),
            _ => return Err(self.mismatch(writer, reader)),
        })
    }

    fn mismatch(&self, writer: &Type, reader: &Type) -> Error {
        Error::new(ErrorKind::TypeMismatch {
            writer: self.layout.shape.type_name(writer),
            reader: self.reader.type_name(reader),
        })
    }

    fn definitions(&mut self, writer: u32, reader: u32) -> Result<u32> {
        if let Some((.., node)) = self.known.iter().find(|known| (known.0, known.1) == (writer, reader)) {
            return Ok(*node);
        }
        let node = self.push(Node::Open);
        self.known.push((writer, reader, node));
        let layout = self.layout;
        let (from, to) =
            (&layout.shape.definitions[writer as usize], &self.reader.definitions[reader as usize]);
        let resolved = match (&from.kind, &to.kind) {
            (DefinitionKind::Struct(from), DefinitionKind::Struct(to)) => {
                let steps = self.fields(from, to)?;
                if self.is_same(&steps, to.len()) { Node::Same } else { Node::Struct(steps) }
            }
            (DefinitionKind::Enum(from), DefinitionKind::Enum(to)) => self.variants(from, to)?,
            _ => return Err(self.mismatch(&Type::Ref(writer), &Type::Ref(reader))),
        };
        self.nodes[node as usize] = resolved;
        Ok(node)
    }

    fn fields(&mut self, from: &[Field], to: &[Field]) -> Result<Vec<Step>> {
        let mut steps = Vec::with_capacity(from.len());
        for field in from {
            let target = target_of(&field.name, from, to);
            let node = match target {
                Some(index) => {
                    self.types(&field.ty, &to[index].ty).map_err(|error| error.inside(&field.name))?
                }
                None => self.push(Node::Source(field.ty.clone())),
            };
            steps.push(Step { target, name: field.name.clone(), ty: field.ty.clone(), node });
        }
        for (index, field) in to.iter().enumerate() {
            let is_missing = steps.iter().all(|step| step.target != Some(index));
            if is_missing && !has_finite_default(self.reader, &field.ty, &mut Vec::new()) {
                return Err(Error::new(ErrorKind::NoDefault).inside(&field.name));
            }
        }
        Ok(steps)
    }

    fn is_same(&self, steps: &[Step], fields: usize) -> bool {
        steps.len() == fields
            && steps.iter().enumerate().all(|(index, step)| {
                step.target == Some(index) && matches!(self.nodes[step.node as usize], Node::Same)
            })
    }

    fn variants(&mut self, from: &[Variant], to: &[Variant]) -> Result<Node> {
        let mut steps = Vec::with_capacity(from.len());
        let mut same = from.len() == to.len();
        for (index, variant) in from.iter().enumerate() {
            let target = to.iter().position(|known| known.name == variant.name);
            let fields = target.map_or(&[][..], |target| &to[target].fields);
            let payload =
                self.fields(&variant.fields, fields).map_err(|error| error.inside(&variant.name))?;
            same &= target == Some(index) && self.is_same(&payload, fields.len());
            let bits = self.layout.fields_bits(&variant.fields);
            steps.push(VariantStep { target, name: variant.name.clone(), steps: payload, bits });
        }
        Ok(if same { Node::Same } else { Node::Enum(steps) })
    }
}

/// The index of the reader's field that has the name of a writer's field now, or had it before.
fn target_of(name: &str, from: &[Field], to: &[Field]) -> Option<usize> {
    let is_here = |known: &str| from.iter().any(|field| field.name == known);
    to.iter().position(|wanted| wanted.name == name).or_else(|| {
        to.iter().position(|wanted| {
            !is_here(&wanted.name)
                && wanted.was.iter().find(|former| is_here(former)).is_some_and(|former| former == name)
        })
    })
}

/// Whether the default of a missing field is finite. `open` are the definitions on the path to the field.
fn has_finite_default(shape: &Shape, ty: &Type, open: &mut Vec<u32>) -> bool {
    let index = match ty {
        Type::Ref(index) => *index,
        Type::Array(_, ty) => return has_finite_default(shape, ty, open),
        _ => return true,
    };
    if open.contains(&index) {
        return false;
    }
    open.push(index);
    let fields = match &shape.definition(index).kind {
        DefinitionKind::Struct(fields) => &fields[..],
        DefinitionKind::Enum(variants) if variants.iter().any(|variant| variant.fields.is_empty()) => &[],
        DefinitionKind::Enum(variants) => &variants[0].fields,
    };
    let finite = fields.iter().all(|field| has_finite_default(shape, &field.ty, open));
    open.pop();
    finite
}

/// Whether an absent option of the writer can be read as the empty value of this type.
fn is_scalar(ty: &Type) -> bool {
    use Type as T;
    matches!(ty, T::Bool | T::Text | T::Number(_) | T::Uvar | T::Ivar | T::Range(_) | T::Angle(_))
}

fn is_float(ty: &Type) -> bool {
    matches!(ty, Type::Number(NumberType::F32 | NumberType::F64))
}

/// Whether a value of the writer's scalar type may be converted to the reader's. The conversion can still fail for single values.
fn converts(writer: &Type, reader: &Type) -> bool {
    use NumberType as N;
    use Type as T;
    let integer = |ty: &Type| match ty {
        T::Number(number) if !is_float(&T::Number(*number)) => Some(*number),
        T::Uvar => Some(N::U64),
        T::Ivar => Some(N::I64),
        _ => None,
    };
    // In a program, the reader's quantised field is an `f32` or `f64`. A quantised field accepts rounding.
    let float_reader = matches!(reader, T::Range(_) | T::Angle(_)) || is_float(reader);
    match (integer(writer), integer(reader)) {
        (Some(_), Some(_)) => true,
        (Some(number), None) if float_reader => match reader {
            T::Number(N::F64) => number.width() <= 4,
            _ => number.width() <= 2,
        },
        (None, None) if float_reader => match writer {
            T::Range(_) | T::Angle(_) | T::Number(N::F32) => true,
            T::Number(N::F64) => *reader != T::Number(N::F32),
            _ => false,
        },
        _ => matches!((writer, reader), (T::Quat(_), T::Quat(_))),
    }
}
