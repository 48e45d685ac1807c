//! Validator for the subset of JSON Schema that the OpenAPI description uses. An unknown keyword is an error, so that no constraint
//! is ignored.

use serde_json::Value;

/// Returns the violations of a schema.
pub(crate) fn violations(document: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let mut violations = Vec::new();
    for (keyword, rule) in schema.as_object().unwrap() {
        match keyword.as_str() {
            "$ref" => {
                let name = rule.as_str().unwrap().strip_prefix("#/components/schemas/").unwrap();
                let target = &document["components"]["schemas"][name];
                assert!(target.is_object(), "no schema {name}");
                violations.extend(self::violations(document, target, value, at));
            }
            "type" => {
                let names: Vec<&str> = match rule {
                    Value::Array(names) => names.iter().map(|name| name.as_str().unwrap()).collect(),
                    name => vec![name.as_str().unwrap()],
                };
                if !names.iter().any(|name| has_type(value, name)) {
                    violations.push(format!("{at}: {value} is not of type {names:?}"));
                }
            }
            "enum" if value.is_null() => {}
            "enum" => {
                if !rule.as_array().unwrap().contains(value) {
                    violations.push(format!("{at}: {value} is not one of {rule}"));
                }
            }
            "oneOf" => {
                let matches = |schema: &&Value| self::violations(document, schema, value, at).is_empty();
                if rule.as_array().unwrap().iter().filter(matches).count() != 1 {
                    let last = rule.as_array().unwrap().last().unwrap();
                    violations.extend(self::violations(document, last, value, at));
                }
            }
            "required" => {
                for name in rule.as_array().unwrap() {
                    if value.as_object().is_some_and(|value| !value.contains_key(name.as_str().unwrap())) {
                        violations.push(format!("{at}: {name} is missing"));
                    }
                }
            }
            "properties" => {
                for (name, schema) in rule.as_object().unwrap() {
                    if let Some(inner) = value.get(name) {
                        violations.extend(self::violations(document, schema, inner, &format!("{at}.{name}")));
                    }
                }
            }
            "additionalProperties" => violations.extend(undescribed(document, schema, rule, value, at)),
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    violations.extend(self::violations(document, rule, item, &format!("{at}[{index}]")));
                }
            }
            "minItems" | "maxItems" => {
                let (items, bound) = (value.as_array().map_or(0, Vec::len) as u64, rule.as_u64().unwrap());
                if if keyword == "minItems" { items < bound } else { items > bound } {
                    violations.push(format!("{at}: {keyword} is {bound}, found {items}"));
                }
            }
            "description" => {}
            keyword => panic!("{at}: unknown keyword {keyword}"),
        }
    }
    violations
}

/// Properties that the schema does not have.
fn undescribed(document: &Value, schema: &Value, rule: &Value, value: &Value, at: &str) -> Vec<String> {
    let described = |name: &String| schema["properties"].get(name).is_some();
    let mut violations = Vec::new();
    for (name, inner) in value.as_object().into_iter().flatten().filter(|(name, _)| !described(name)) {
        match rule {
            Value::Bool(false) => violations.push(format!("{at}: {name} is not described")),
            rule => violations.extend(self::violations(document, rule, inner, &format!("{at}.{name}"))),
        }
    }
    violations
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        name => panic!("unknown type {name}"),
    }
}

#[test]
fn violations_are_found() {
    let document = serde_json::json!({ "components": { "schemas": { "A": { "type": "integer" } } } });
    let schema = serde_json::json!({
        "type": "object", "required": ["a"], "additionalProperties": false,
        "properties": { "a": { "$ref": "#/components/schemas/A" }, "b": { "type": ["string", "null"] } },
    });
    let count = |value: Value| violations(&document, &schema, &value, "").len();
    assert_eq!(count(serde_json::json!({ "a": 1, "b": null })), 0);
    assert_eq!(count(serde_json::json!({ "a": 1.5 })), 1);
    assert_eq!(count(serde_json::json!({ "b": 1 })), 2);
    assert_eq!(count(serde_json::json!({ "a": 1, "c": 1 })), 1);
    assert_eq!(count(serde_json::json!([])), 1);
}
