// Package strictjson reads JSON of a known format, in one pass and in time linear in its size. It rejects everything that the
// format does not allow: unknown and repeated fields, values of another type, numbers out of range, and names and lists that are
// too long. It rejects each at its place and stores nothing of it, so that a hostile text costs no more than its own size. It
// builds no tree. It formats the path of a value only for an error. Formats of other programs may have more fields than a reader
// needs; it then skips those (Reader.Fields). What a Format reads it also writes (Format.Append).
package strictjson
