// Reading packs. The layout is told in pack.go, the columns in schedules.go.

// unpack turns the text of a pack into its head and its columns by name: typed arrays, or what a text's JSON says.
async function unpack(base64) {
  const stream = new Blob([fromBase64(base64)]).stream().pipeThrough(new DecompressionStream('gzip'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const n = new DataView(bytes.buffer).getUint32(0, true);
  const text = new TextDecoder();
  const head = JSON.parse(text.decode(bytes.subarray(4, 4 + n)));
  const columns = {};
  let at = 4 + n;
  for (const c of head.columns) {
    const size = c.count * (c.width || 1);
    const raw = bytes.subarray(at, at + size);
    columns[c.name] = c.width ? planes(raw, c.width, c.count) : JSON.parse(text.decode(raw));
    at += size;
  }
  return { head, columns };
}

function fromBase64(s) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(s);
  const b = atob(s), out = new Uint8Array(b.length);
  for (let i = 0; i < b.length; i++) out[i] = b.charCodeAt(i);
  return out;
}

// planes puts the bytes of numbers together again.
function planes(raw, width, count) {
  if (width === 1) return raw;
  const out = width === 2 ? new Uint16Array(count) : new Uint32Array(count);
  for (let p = 0, at = 0; p < width; p++) {
    for (let i = 0; i < count; i++, at++) out[i] |= raw[at] << (8 * p);
  }
  return out;
}
