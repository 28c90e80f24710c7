// Package strictjson reads JSON whose format is known, in one pass and in time linear in its size. It refuses what the format
// does not allow: fields that it does not know or that stand twice, values of another type, numbers out of range, names and
// lists that are too long. It refuses them where they stand, before it keeps anything of them, so that a hostile text costs
// no more than its own size. It builds no tree. The path of a value is written out only if there is an error.
package strictjson
