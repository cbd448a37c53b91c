//! A table on its way to Python.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int32Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::DataType;
use arrow_schema::ffi::FFI_ArrowSchema;
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList};

/// Columns of one length, each with its unit in its name.
#[pyclass(frozen, module = "clearpipe._core")]
pub struct Table(pub RecordBatch);

#[pymethods]
impl Table {
    /// The columns' names in their order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// A column as an `array.array`, or as a list if it is text or has gaps (None).
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let column = self.0.column_by_name(name).ok_or_else(|| self.no_column(name))?;
        match column.data_type() {
            DataType::Float64 if column.is_nullable() => {
                Ok(PyList::new(py, column.as_primitive::<Float64Type>().iter())?.into_any())
            }
            DataType::Float64 => array::<Float64Type>(py, "d", column),
            DataType::UInt32 => array::<UInt32Type>(py, "I", column),
            DataType::UInt64 => array::<UInt64Type>(py, "Q", column),
            DataType::Utf8 => Ok(PyList::new(py, column.as_string::<i32>().iter())?.into_any()),
            DataType::Dictionary(..) => {
                let texts = column.as_dictionary::<Int32Type>().downcast_dict::<StringArray>();
                let texts =
                    texts.ok_or_else(|| PyTypeError::new_err(format!("{name}: no text")))?;
                Ok(PyList::new(py, texts)?.into_any())
            }
            other => Err(PyTypeError::new_err(format!("{name}: no Python type for {other}"))),
        }
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<Table of {} rows: {}>", self.0.num_rows(), self.column_names().join(", "))
    }

    /// The Arrow capsule protocol. The interface allows to leave `requested_schema` unheeded.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema_ref().as_ref())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}

impl Table {
    fn no_column(&self, name: &str) -> PyErr {
        let names = self.column_names().join(", ");
        PyKeyError::new_err(format!("no column {name:?}; there are: {names}"))
    }
}

fn array<'py, T: ArrowPrimitiveType>(
    py: Python<'py>,
    code: &str,
    column: &dyn Array,
) -> PyResult<Bound<'py, PyAny>> {
    let bytes = PyBytes::new(py, column.as_primitive::<T>().values().inner().as_slice());
    py.import("array")?.getattr("array")?.call1((code, bytes))
}
