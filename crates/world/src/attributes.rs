//! A kind's attributes: a wire shape with quantisers and defaults.

use nowcast_wire::shape::{Definition, DefinitionKind, Field, Range, Type};
use nowcast_wire::{Shape, Value, schema};

use crate::conform::{self, MisfitError, OutOfRange};
use crate::limits::ATTRIBUTES_MAX;
use crate::problem::{DefinitionError, Path, Problem};

/// The name of the struct in each shape. Clients receive the name but do not use it.
const SHAPE_NAME: &str = "Attributes";

/// Named and typed values with defaults.
///
/// A value is stored exactly as every reader receives it. A number with a range is rounded to a step of the range when it is
/// set, not when it is sent. A quaternion with two equal largest components may read back as the neighbouring quantised
/// value.
///
/// ```
/// use nowcast_world::{Attributes, Value};
///
/// let attributes = Attributes::parse("heat: range(0, 1, 0.25), carrier: u32?")?.with_default("heat", Value::F64(0.5))?;
/// assert_eq!(attributes.conform(0, &Value::F64(0.3))?, Value::F64(0.25));
/// assert_eq!(attributes.conform(0, &Value::Int(7))?, Value::F64(1.0));
/// assert!(attributes.conform(1, &Value::Int(-1)).is_err());
/// assert_eq!(attributes.defaults(), [Value::F64(0.5), Value::Nil]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Attributes {
    shape: Shape,
    defaults: Vec<Value>,
    /// Names of earlier versions, and the indices of the attributes that take over their values.
    formerly: Vec<(String, usize)>,
    /// The indices of the attributes that hold entities, and become nil when their entity is removed.
    entities: Vec<usize>,
    out_of_range: OutOfRange,
    value_bytes_max: usize,
}

impl Default for Attributes {
    fn default() -> Attributes {
        Attributes::parse("").expect("no fields are a valid shape")
    }
}

impl Attributes {
    /// Makes attributes of a shape whose root is a struct. A field that has no default gets nil, zero, the minimum of its
    /// range or an empty value.
    ///
    /// # Errors
    /// Fails if the root of the shape is not a struct, or if a default does not fit its field.
    pub fn new(shape: Shape) -> Result<Attributes, DefinitionError> {
        let path = Path::default();
        let value_bytes_max = crate::Limits::DEFAULT.value_bytes_max;
        let Some(fields) = shape.fields() else {
            return Err(path.field("attributes").error(Problem::Invalid("the root is not a struct")));
        };
        let defaults = fields.iter().map(|field| {
            let value = field.default.clone().unwrap_or_else(|| conform::zero(&shape, &field.ty));
            conform::conform(&shape, &field.ty, OutOfRange::Refuse, value_bytes_max, &value).map_err(
                |error| path.field("attributes").field(&field.name).error(Problem::Shape(error.to_string())),
            )
        });
        let defaults = defaults.collect::<Result<_, _>>()?;
        Ok(Attributes {
            defaults,
            shape,
            formerly: Vec::new(),
            entities: Vec::new(),
            out_of_range: OutOfRange::default(),
            value_bytes_max,
        })
    }

    /// Attributes with these names and types, each with the default of its type.
    ///
    /// # Errors
    /// Fails if two attributes have the same name, or for the reasons of [`Attributes::new`].
    pub fn from_fields(fields: Vec<Field>) -> Result<Attributes, DefinitionError> {
        let definition = Definition { name: SHAPE_NAME.to_owned(), kind: DefinitionKind::Struct(fields) };
        let shape = Shape { root: Type::Ref(0), definitions: vec![definition] };
        // The reader of shapes checks everything else.
        let shape = Shape::from_bytes(&shape.to_bytes())
            .map_err(|error| Path::default().field("attributes").error(Problem::Shape(error.to_string())))?;
        Attributes::new(shape)
    }

    /// Parses attributes from text: names and types, separated by commas, in the notation of [`schema`].
    ///
    /// # Errors
    /// Fails if the text is malformed (the error names the place), or for the reasons of [`Attributes::new`].
    pub fn parse(fields: &str) -> Result<Attributes, DefinitionError> {
        let shape = schema::parse_fields(SHAPE_NAME, fields)
            .map_err(|error| Path::default().field("attributes").error(Problem::Shape(error.problem)))?;
        Attributes::new(shape)
    }

    /// Sets another default for one attribute.
    ///
    /// # Errors
    /// Fails if there is no attribute of this name, or if the value does not fit it.
    pub fn with_default(mut self, name: &str, value: Value) -> Result<Attributes, DefinitionError> {
        let path = Path::default();
        let path = path.field("attributes");
        let Some(index) = self.index(name) else {
            return Err(path.field(name).error(Problem::Invalid("there is no such attribute")));
        };
        self.defaults[index] = self
            .conform(index, &value)
            .map_err(|error| path.field(name).error(Problem::Shape(error.to_string())))?;
        Ok(self)
    }

    /// Adds an attribute with the default of its type. It stands before the first attribute with a greater name, so that
    /// attributes in the order of their names stay in this order.
    ///
    /// # Errors
    /// Fails if there is an attribute of this name, or for the reasons of [`Attributes::new`].
    pub fn with_field(self, field: Field) -> Result<Attributes, DefinitionError> {
        let Attributes { mut shape, defaults, formerly, entities, out_of_range, value_bytes_max } = self;
        let mut fields = shape.fields().map(<[Field]>::to_vec).unwrap_or_default();
        let place = fields.partition_point(|other| other.name < field.name);
        fields.insert(place, field);
        if let Type::Ref(root) = shape.root
            && let Some(definition) = shape.definitions.get_mut(root as usize)
        {
            definition.kind = DefinitionKind::Struct(fields);
        }
        // The reader of shapes checks everything else.
        let shape = Shape::from_bytes(&shape.to_bytes())
            .map_err(|error| Path::default().field("attributes").error(Problem::Shape(error.to_string())))?;
        let mut wider = Attributes::new(shape)?;
        for (index, default) in defaults.into_iter().enumerate() {
            wider.defaults[index + usize::from(index >= place)] = default;
        }
        let shifted = |index: usize| index + usize::from(index >= place);
        let formerly = formerly.into_iter().map(|(name, index)| (name, shifted(index))).collect();
        let entities = entities.into_iter().map(shifted).collect();
        Ok(Attributes { formerly, entities, out_of_range, value_bytes_max, ..wider })
    }

    /// Sets whether numbers outside their range are clamped or refused.
    pub fn with_out_of_range(self, out_of_range: OutOfRange) -> Attributes {
        Attributes { out_of_range, ..self }
    }

    /// Lets the attribute `name` take over the values that were saved under the name `former`.
    ///
    /// # Errors
    /// Fails if there is no attribute `name`, or if `former` is the name of another one.
    pub fn with_former_name(mut self, name: &str, former: &str) -> Result<Attributes, DefinitionError> {
        let path = Path::default();
        let path = path.field("attributes");
        let path = path.field(name);
        let Some(index) = self.index(name) else {
            return Err(path.error(Problem::Invalid("there is no such attribute")));
        };
        if self.index(former).is_some() || self.formerly.iter().any(|(known, _)| known == former) {
            return Err(path.error(Problem::Invalid("its former name is the name of another attribute")));
        }
        self.formerly.push((former.to_owned(), index));
        Ok(self)
    }

    /// Declares that an attribute holds the id of an entity. When the entity is removed, the attribute becomes nil, if it may be
    /// nil.
    #[must_use]
    pub fn with_entity(mut self, name: &str) -> Attributes {
        let may_be_nil = |index: &usize| matches!(self.fields()[*index].ty, Type::Option(_));
        self.entities.extend(self.index(name).filter(may_be_nil));
        self
    }

    /// The indices of the attributes that become nil when their entity is removed.
    pub(crate) fn entities(&self) -> &[usize] {
        &self.entities
    }

    /// The shape, as clients receive it.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Names and types, in order.
    pub fn fields(&self) -> &[Field] {
        self.shape.fields().expect("a root that is not a struct was refused")
    }

    /// Returns the default of each attribute, in the order of the fields.
    pub fn defaults(&self) -> &[Value] {
        &self.defaults
    }

    /// Returns the index of an attribute.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.fields().iter().position(|field| field.name == name)
    }

    /// Returns the index of the attribute that takes over values saved under this name.
    pub(crate) fn index_of_written(&self, name: &str) -> Option<usize> {
        let formerly = || self.formerly.iter().find(|(former, _)| former == name).map(|(_, index)| *index);
        self.index(name).or_else(formerly)
    }

    /// Converts a value to an attribute's stored form: quantised, and with the shape's type. Floats without a fraction
    /// are accepted as integers.
    ///
    /// # Errors
    /// Fails if the value does not fit the type of the attribute or its bounds.
    ///
    /// # Panics
    /// Panics if there is no attribute at `index`.
    pub fn conform(&self, index: usize, value: &Value) -> Result<Value, MisfitError> {
        let field = &self.fields()[index];
        conform::conform(&self.shape, &field.ty, self.out_of_range, self.value_bytes_max, value)
            .map_err(|error| error.inside(&field.name))
    }

    /// Converts a whole map, such as the arguments of an action. Missing values become defaults; unknown ones are an
    /// error.
    ///
    /// # Errors
    /// Fails if the value is not a map, if it has an unknown name, or if a value does not fit its attribute.
    pub fn conform_map(&self, values: &Value) -> Result<Value, MisfitError> {
        let given: &[(Value, Value)] = match values {
            Value::Map(pairs) => pairs,
            Value::Nil => &[],
            other => return Err(MisfitError::new("a map", other.kind())),
        };
        let unknown = given.iter().find(|(key, _)| key.as_text().and_then(|name| self.index(name)).is_none());
        if let Some((key, _)) = unknown {
            let known: Vec<_> = self.fields().iter().map(|field| field.name.as_str()).collect();
            let known = if known.is_empty() {
                "no name".to_owned()
            } else {
                format!("a name of {}", known.join(", "))
            };
            return Err(MisfitError::new(known, format!("{:?}", key.as_text().unwrap_or("?"))));
        }
        let pairs = self.fields().iter().enumerate().map(|(index, field)| {
            let value = match values.get(&field.name) {
                Some(value) => self.conform(index, value)?,
                None => self.defaults[index].clone(),
            };
            Ok((Value::Text(field.name.clone()), value))
        });
        Ok(Value::Map(pairs.collect::<Result<_, MisfitError>>()?))
    }

    pub(crate) fn check(&self, path: &Path<'_>) -> Result<(), DefinitionError> {
        path.count(self.fields().len(), 0, ATTRIBUTES_MAX)?;
        for field in self.fields() {
            let path = path.field(&field.name);
            if !crate::problem::is_name(&field.name) {
                return Err(
                    path.error(Problem::Invalid("a name has 1 to 64 bytes, and no control characters"))
                );
            }
            if let Type::Range(range @ Range { .. }) = &field.ty
                && range.max().is_none()
            {
                return Err(path.error(Problem::Invalid(
                    "a range needs a low end below its high end and a step above 0",
                )));
            }
        }
        Ok(())
    }
}
