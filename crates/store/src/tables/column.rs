//! Types of table columns, each with the value in a row, the Arrow builder and the Arrow array.

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

/// Type of a column.
pub trait ColumnType {
    /// Value in a row.
    type Value<'a>: Default;
    /// Arrow builder.
    type Builder: Default + std::fmt::Debug;
    /// Arrow array.
    type Column: Array + Clone;

    /// Arrow field with type and nullability.
    fn field(name: &str) -> Field;
    /// Appends a value.
    fn append(builder: &mut Self::Builder, value: Self::Value<'_>);
    /// Finishes the array.
    fn finish(builder: &mut Self::Builder) -> ArrayRef;
    /// Value of a row.
    fn get(column: &Self::Column, row: usize) -> Self::Value<'_>;
}

macro_rules! column_types {
    ($($(#[$doc:meta])* $ColumnType:ident, $Optional:ident: $Value:ty, $Builder:ty, $Column:ty, $type:expr;)*) => {$(
        $(#[$doc])*
        pub struct $ColumnType;
        /// Nullable variant.
        pub struct $Optional;

        impl ColumnType for $ColumnType {
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

        impl ColumnType for $Optional {
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

column_types! {
    /// Text.
    Utf8, NullableUtf8: &'a str, StringBuilder, StringArray, DataType::Utf8;
    /// Signed 16-bit integer, the type of statuses in cc-index.
    Int16, NullableInt16: i16, Int16Builder, Int16Array, DataType::Int16;
    /// Signed 32-bit integer.
    Int32, NullableInt32: i32, Int32Builder, Int32Array, DataType::Int32;
    /// Signed 64-bit integer.
    Int64, NullableInt64: i64, Int64Builder, Int64Array, DataType::Int64;
    /// Page or site id.
    Id, NullableId: u32, UInt32Builder, UInt32Array, DataType::UInt32;
    /// Floating-point number.
    Float, NullableFloat: f32, Float32Builder, Float32Array, DataType::Float32;
    /// Boolean.
    Bool, NullableBool: bool, BooleanBuilder, BooleanArray, DataType::Boolean;
}

/// Time in Unix milliseconds.
pub struct Timestamp;

impl ColumnType for Timestamp {
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

/// Nullable time.
pub struct NullableTimestamp;

impl ColumnType for NullableTimestamp {
    type Value<'a> = Option<i64>;
    type Builder = TimestampMillisecondBuilder;
    type Column = TimestampMillisecondArray;

    fn field(name: &str) -> Field {
        Timestamp::field(name).with_nullable(true)
    }

    fn append(builder: &mut Self::Builder, value: Option<i64>) {
        builder.append_option(value);
    }

    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        Timestamp::finish(builder)
    }

    fn get(column: &Self::Column, row: usize) -> Option<i64> {
        column.is_valid(row).then(|| column.value(row))
    }
}

const UTC: &str = "UTC";
