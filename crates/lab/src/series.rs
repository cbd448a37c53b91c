//! Series as JavaScript's arrays.

use js_sys::{Array, Float64Array, Object, Reflect, Uint32Array};
use results::{Series, SeriesOf};
use wasm_bindgen::JsValue;

/// Sets a property; an object of our own refuses none.
pub fn set(object: &Object, key: &str, value: impl Into<JsValue>) {
    let done = Reflect::set(object, &JsValue::from_str(key), &value.into());
    debug_assert!(done.is_ok());
}

/// `{ name, of, t, id, value }` each.
pub fn objects(all: Vec<Series>) -> Array {
    all.into_iter()
        .map(|series| {
            let object = Object::new();
            let of = match series.of {
                SeriesOf::Flow => "flow",
                SeriesOf::Link => "link",
            };
            set(&object, "name", series.name.as_str());
            set(&object, "of", of);
            set(&object, "t", Float64Array::from(&series.t_s[..]));
            set(&object, "id", Uint32Array::from(&series.id[..]));
            set(&object, "value", Float64Array::from(&series.value[..]));
            object
        })
        .collect()
}
