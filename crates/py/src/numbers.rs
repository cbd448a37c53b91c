//! The numbers of runs, for metrics and the tables of sweeps.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyString};
use results::{Damage, Wanted};

/// The numbers of a run, its engine's version, its fingerprint and the versions of its parts.
type Found<'py> = (Bound<'py, PyDict>, Bound<'py, PyString>, String, Bound<'py, PyDict>);

/// Every finite number of a run's `summary.json`, by its full name; the short names of links are of
/// `bottleneck`.
#[pyfunction]
pub fn numbers<'py>(
    py: Python<'py>,
    summary: &str,
    bottleneck: Option<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    let (names, values) = results::numbers(summary.as_bytes(), bottleneck)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    dict(py, &texts(py, &names), &values)
}

/// Of runs of a store, by their identities and bottlenecks, what a table needs, or what is wrong
/// with the first file that is not what was written: its path, and why. Runs share texts and the
/// versions of parts.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "a tuple in Python")]
pub fn read_numbers<'py>(
    py: Python<'py>,
    root: PathBuf,
    runs: Vec<(String, Option<String>)>,
) -> PyResult<Vec<(Option<Found<'py>>, Option<(PathBuf, String)>)>> {
    let wanted = |(identity, bottleneck)| Wanted { identity, bottleneck };
    let runs: Vec<Wanted> = runs.into_iter().map(wanted).collect();
    let read = py.detach(|| results::read_numbers(&root, &runs));
    let names: Vec<_> = read.names.iter().map(|names| texts(py, names)).collect();
    let parts: Vec<_> =
        read.parts.iter().map(|parts| parts.into_pyobject(py)).collect::<PyResult<_>>()?;
    let one = |read| match read {
        Ok(results::Numbers { names: of, values, model_version, fingerprint, parts: used }) => {
            let version = PyString::intern(py, &model_version);
            let numbers = dict(py, &names[of], &values)?;
            Ok((Some((numbers, version, fingerprint, parts[used].clone())), None))
        }
        Err(Damage { path, reason }) => Ok((None, Some((path, reason)))),
    };
    read.runs.into_iter().map(one).collect()
}

fn texts<'py>(py: Python<'py>, names: &[String]) -> Vec<Bound<'py, PyString>> {
    names.iter().map(|name| PyString::new(py, name)).collect()
}

fn dict<'py>(
    py: Python<'py>,
    names: &[Bound<'py, PyString>],
    values: &[f64],
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, &value) in names.iter().zip(values) {
        dict.set_item(name, PyFloat::new(py, value))?;
    }
    Ok(dict)
}

/// The cells of rows of numbers in a CSV file, as Python writes them; what a row lacks is empty.
#[pyfunction]
pub fn csv_cells(
    names: Vec<Bound<'_, PyString>>,
    rows: Vec<Bound<'_, PyDict>>,
) -> PyResult<Vec<String>> {
    let mut out = Vec::with_capacity(rows.len());
    for row in rows {
        let mut line = String::new();
        for (place, name) in names.iter().enumerate() {
            if place > 0 {
                line.push(',');
            }
            if let Some(value) = row.get_item(name)? {
                results::write_python_float(&mut line, value.extract()?);
            }
        }
        out.push(line);
    }
    Ok(out)
}
