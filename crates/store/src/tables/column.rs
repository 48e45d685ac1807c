//! What can a cell hold? The kinds of columns, each with the value that a row gives, the builder that takes it and the
//! array that gives it back.

use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Float32Builder, Int16Builder, Int32Builder, Int64Builder, StringBuilder,
    TimestampMillisecondBuilder, UInt32Builder,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float32Array, Int16Array, Int32Array, Int64Array, StringArray,
    TimestampMillisecondArray, UInt32Array,
};
use arrow_schema::{DataType, Field, TimeUnit};

/// A kind of column.
pub trait Kind {
    /// What a row gives.
    type Value<'a>: Default;
    /// What gathers the values.
    type Builder: Default + std::fmt::Debug;
    /// What has them when they are read.
    type Column: Array + Clone;

    /// The column's type, and whether it may be empty.
    fn field(name: &str) -> Field;
    /// Adds a value.
    fn append(builder: &mut Self::Builder, value: Self::Value<'_>);
    /// The column.
    fn finish(builder: &mut Self::Builder) -> ArrayRef;
    /// The value of a row.
    fn get(column: &Self::Column, row: usize) -> Self::Value<'_>;
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $Kind:ident, $Optional:ident: $Value:ty, $Builder:ty, $Column:ty, $type:expr;)*) => {$(
        $(#[$doc])*
        pub struct $Kind;
        /// The same, or nothing.
        pub struct $Optional;

        impl Kind for $Kind {
            type Value<'a> = $Value;
            type Builder = $Builder;
            type Column = $Column;

            fn field(name: &str) -> Field {
                Field::new(name, $type, false)
            }

            fn append(builder: &mut Self::Builder, value: Self::Value<'_>) {
                builder.append_value(value);
            }

            fn finish(builder: &mut Self::Builder) -> ArrayRef {
                Arc::new(builder.finish())
            }

            fn get(column: &Self::Column, row: usize) -> Self::Value<'_> {
                column.value(row)
            }
        }

        impl Kind for $Optional {
            type Value<'a> = Option<$Value>;
            type Builder = $Builder;
            type Column = $Column;

            fn field(name: &str) -> Field {
                Field::new(name, $type, true)
            }

            fn append(builder: &mut Self::Builder, value: Self::Value<'_>) {
                builder.append_option(value);
            }

            fn finish(builder: &mut Self::Builder) -> ArrayRef {
                Arc::new(builder.finish())
            }

            fn get(column: &Self::Column, row: usize) -> Self::Value<'_> {
                column.is_valid(row).then(|| column.value(row))
            }
        }
    )*};
}

kinds! {
    /// Characters.
    Text, MaybeText: &'a str, StringBuilder, StringArray, DataType::Utf8;
    /// 16 bits, signed: Common Crawl's type for statuses.
    Int16, MaybeInt16: i16, Int16Builder, Int16Array, DataType::Int16;
    /// 32 bits, signed.
    Int32, MaybeInt32: i32, Int32Builder, Int32Array, DataType::Int32;
    /// 64 bits, signed.
    Int64, MaybeInt64: i64, Int64Builder, Int64Array, DataType::Int64;
    /// A page or a site.
    Id, MaybeId: u32, UInt32Builder, UInt32Array, DataType::UInt32;
    /// A real number.
    Real, MaybeReal: f32, Float32Builder, Float32Array, DataType::Float32;
    /// Yes or no.
    Flag, MaybeFlag: bool, BooleanBuilder, BooleanArray, DataType::Boolean;
}

/// A moment, in Unix milliseconds.
pub struct Time;

impl Kind for Time {
    type Value<'a> = i64;
    type Builder = TimestampMillisecondBuilder;
    type Column = TimestampMillisecondArray;

    fn field(name: &str) -> Field {
        Field::new(name, DataType::Timestamp(TimeUnit::Millisecond, Some(UTC.into())), false)
    }

    fn append(builder: &mut Self::Builder, value: i64) {
        builder.append_value(value);
    }

    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        Arc::new(builder.finish().with_timezone(UTC))
    }

    fn get(column: &Self::Column, row: usize) -> i64 {
        column.value(row)
    }
}

/// A moment, or nothing.
pub struct MaybeTime;

impl Kind for MaybeTime {
    type Value<'a> = Option<i64>;
    type Builder = TimestampMillisecondBuilder;
    type Column = TimestampMillisecondArray;

    fn field(name: &str) -> Field {
        Time::field(name).with_nullable(true)
    }

    fn append(builder: &mut Self::Builder, value: Option<i64>) {
        builder.append_option(value);
    }

    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        Time::finish(builder)
    }

    fn get(column: &Self::Column, row: usize) -> Option<i64> {
        column.is_valid(row).then(|| column.value(row))
    }
}

const UTC: &str = "UTC";
