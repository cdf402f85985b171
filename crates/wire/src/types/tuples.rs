//! Tuples. They are structs with an empty name and the field names 0, 1, …

use crate::error::Result;
use crate::input::Input;
use crate::output::Writer;
use crate::plan::Plan;
use crate::shape::{Field, ShapeBuilder, Type};
use crate::wire::{Column, Read, Rows, Wire};

macro_rules! tuple {
    ($column:ident: $($type:ident $index:tt),*) => {
        impl<$($type: Wire),*> Wire for ($($type,)*) {
            const BITS: usize = 0 $(+ $type::BITS)*;
            const TEXTS: usize = 0 $(+ $type::TEXTS)*;
            const FLAT: bool = true $(&& $type::FLAT)*;

            fn describe(shape: &mut ShapeBuilder) -> Type {
                shape.define_struct::<Self>("", |shape| vec![$(Field::new(stringify!($index), $type::describe(shape))),*])
            }

            fn write<'a, I: Rows<'a, Self>>(rows: I, writer: &mut Writer<'_>)
            where
                Self: 'a,
            {
                writer.nested(|writer| {
                    $($type::write(rows.clone().map(|row| &row.$index), writer);)*
                });
            }
        }

        impl<'de, $($type: Read<'de>),*> Read<'de> for ($($type,)*) {
            type Column = $column<$($type::Column),*>;
        }

        /// Opened tuples.
        pub struct $column<$($type),*>($($type),*);

        impl<'de, $($type: Column<'de>),*> Column<'de> for $column<$($type),*> {
            type Item = ($($type::Item,)*);

            fn absent(rows: usize) -> Self {
                Self($($type::absent(rows)),*)
            }

            fn open(plan: Option<Plan<'_>>, rows: usize, input: &mut Input<'de>) -> Result<Self> {
                input.nested(|input| {
                    let Some(plan) = plan else {
                        return Ok(Self($(
                            $type::open(None, rows, input).map_err(|error| error.inside(stringify!($index)))?
                        ),*));
                    };
                    let mut this = Self::absent(rows);
                    for step in plan.steps() {
                        match step.target {
                            $(Some($index) => {
                                this.$index = $type::open(plan.field(step), rows, input)
                                    .map_err(|error| error.inside(stringify!($index)))?;
                            })*
                            _ => plan.skip(step, rows, input)?,
                        }
                    }
                    Ok(this)
                })
            }

            #[inline]
            fn get(&self, row: usize, text: &'de str) -> Self::Item {
                ($(self.$index.get(row, text),)*)
            }
        }
    };
}

tuple! { Tuple1: A 0 }
tuple! { Tuple2: A 0, B 1 }
tuple! { Tuple3: A 0, B 1, C 2 }
tuple! { Tuple4: A 0, B 1, C 2, D 3 }
tuple! { Tuple5: A 0, B 1, C 2, D 3, E 4 }
tuple! { Tuple6: A 0, B 1, C 2, D 3, E 4, F 5 }
tuple! { Tuple7: A 0, B 1, C 2, D 3, E 4, F 5, G 6 }
tuple! { Tuple8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7 }
