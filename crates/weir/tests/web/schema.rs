//! Does an answer fit its description? As much of JSON Schema as our description uses; a word that is not known here is an
//! error, so that nothing is held to less than it says.

use serde_json::Value;

/// What is wrong with a value, by the schemas of a document.
pub(crate) fn faults(document: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (word, rule) in schema.as_object().unwrap() {
        match word.as_str() {
            "$ref" => {
                let name = rule.as_str().unwrap().strip_prefix("#/components/schemas/").unwrap();
                let target = &document["components"]["schemas"][name];
                assert!(target.is_object(), "no schema is called {name}");
                faults.extend(self::faults(document, target, value, at));
            }
            "type" => {
                let names: Vec<&str> = match rule {
                    Value::Array(names) => names.iter().map(|name| name.as_str().unwrap()).collect(),
                    name => vec![name.as_str().unwrap()],
                };
                if !names.iter().any(|name| is_of(value, name)) {
                    faults.push(format!("{at}: {value} is no {names:?}"));
                }
            }
            "enum" if value.is_null() => {}
            "enum" => {
                if !rule.as_array().unwrap().contains(value) {
                    faults.push(format!("{at}: {value} is none of {rule}"));
                }
            }
            "oneOf" => {
                let fits = |schema: &&Value| self::faults(document, schema, value, at).is_empty();
                if rule.as_array().unwrap().iter().filter(fits).count() != 1 {
                    let last = rule.as_array().unwrap().last().unwrap();
                    faults.extend(self::faults(document, last, value, at));
                }
            }
            "required" => {
                for name in rule.as_array().unwrap() {
                    if value.as_object().is_some_and(|value| !value.contains_key(name.as_str().unwrap())) {
                        faults.push(format!("{at}: {name} is missing"));
                    }
                }
            }
            "properties" => {
                for (name, schema) in rule.as_object().unwrap() {
                    if let Some(inside) = value.get(name) {
                        faults.extend(self::faults(document, schema, inside, &format!("{at}.{name}")));
                    }
                }
            }
            "additionalProperties" => faults.extend(others(document, schema, rule, value, at)),
            "items" => {
                for (place, item) in value.as_array().into_iter().flatten().enumerate() {
                    faults.extend(self::faults(document, rule, item, &format!("{at}[{place}]")));
                }
            }
            "minItems" | "maxItems" => {
                let (items, bound) = (value.as_array().map_or(0, Vec::len) as u64, rule.as_u64().unwrap());
                if if word == "minItems" { items < bound } else { items > bound } {
                    faults.push(format!("{at}: {word} is {bound}, and there are {items}"));
                }
            }
            "description" => {}
            word => panic!("{at}: {word} is not known here"),
        }
    }
    faults
}

/// Names that the schema does not have.
fn others(document: &Value, schema: &Value, rule: &Value, value: &Value, at: &str) -> Vec<String> {
    let described = |name: &String| schema["properties"].get(name).is_some();
    let mut faults = Vec::new();
    for (name, inside) in value.as_object().into_iter().flatten().filter(|(name, _)| !described(name)) {
        match rule {
            Value::Bool(false) => faults.push(format!("{at}: {name} is not described")),
            rule => faults.extend(self::faults(document, rule, inside, &format!("{at}.{name}"))),
        }
    }
    faults
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        name => panic!("no type is called {name}"),
    }
}

#[test]
fn what_does_not_fit_is_found() {
    let document = serde_json::json!({ "components": { "schemas": { "A": { "type": "integer" } } } });
    let schema = serde_json::json!({
        "type": "object", "required": ["a"], "additionalProperties": false,
        "properties": { "a": { "$ref": "#/components/schemas/A" }, "b": { "type": ["string", "null"] } },
    });
    let count = |value: Value| faults(&document, &schema, &value, "").len();
    assert_eq!(count(serde_json::json!({ "a": 1, "b": null })), 0);
    assert_eq!(count(serde_json::json!({ "a": 1.5 })), 1);
    assert_eq!(count(serde_json::json!({ "b": 1 })), 2);
    assert_eq!(count(serde_json::json!({ "a": 1, "c": 1 })), 1);
    assert_eq!(count(serde_json::json!([])), 1);
}
