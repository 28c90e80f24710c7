package objectives

import "encoding/json"

// Schema returns a JSON schema of objective files, by which editors complete and check them.
func Schema() []byte {
	type object = map[string]any
	text := func(about, pattern string) object {
		o := object{"type": "string", "description": about}
		if pattern != "" {
			o["pattern"] = pattern
		}
		return o
	}
	amount := func(about string) object { return object{"type": "number", "minimum": 0, "description": about} }
	yes := func(about string) object { return object{"type": "boolean", "description": about} }
	const span = `^(0|([0-9.]+(ns|us|ms|s|m|h))+|[0-9.]+d)$`
	list := func(about string) object {
		one := object{"type": []string{"string", "number"}}
		many := object{"type": "array", "items": one, "minItems": 1, "maxItems": mostList}
		return object{"description": about, "oneOf": []any{one, many}}
	}
	names := make([]string, len(costs))
	for i := range costs {
		names[i] = string(costs[i].cost)
	}
	closed := func(properties object, required ...string) object {
		return object{"type": "object", "additionalProperties": false, "properties": properties, "required": required}
	}
	jobs := closed(object{
		"gpus": list("GPUs that the job asks for: 4, 1-4 or 8-"), "priority": list("as the trace has it, 0 without"),
		"run_time": list("of the job alone: -1h, 10m-2h or 1d-"), "tenants": list("by name"), "users": list("by name"),
		"groups": list("recurring jobs, by name"), "models": list("by name"),
		"elastic": yes("whether its number of workers may change"),
	}, []string{}...)
	jobs["description"] = "which jobs count: each field that is given must hold"
	term := closed(object{
		"cost":  object{"enum": names, "description": "what is counted"},
		"price": object{"type": []string{"string", "number"}, "description": "1/min, 0.05/h, or 30 for events and run times"},
		"jobs":  jobs, "first": yes("only until the job has run for a minute"),
		"over": text("what exceeds this time counts", span), "power": amount("long times cost more: 2 for squares"),
		"per": object{"const": "run_time", "description": "count in run times of the job"}, "floor": text("of these run times", span),
		"deadline": closed(object{
			"run_times": amount("of the job, from submission"), "plus": text("time besides", span),
		}, []string{}...),
		"miss": amount("once when the deadline passes"),
		"prices": object{
			"type":              []string{"object", "string"},
			"description":       "factor to the price from each hour of the day on, or a CSV file with the columns hour and price",
			"patternProperties": object{"^(1?[0-9]|2[0-3])$": object{"type": "number", "minimum": 0}}, "additionalProperties": false,
		},
	}, "cost")
	schema := closed(object{
		"name": text("a to z, 0 to 9 and dashes", nameForm.String()), "about": text("what it asks for, in one sentence", ""),
		"serves": text("whom it serves", ""), "unit": text("the unit of all costs, for display", ""),
		"terms": object{"type": "array", "items": term, "minItems": 1, "maxItems": mostTerms},
	}, "name", "terms")
	schema["$schema"], schema["title"] = "https://json-schema.org/draft/2020-12/schema", "objective of clustergym"
	out, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		panic(err) // it has only text, numbers and maps
	}
	return append(out, '\n')
}
