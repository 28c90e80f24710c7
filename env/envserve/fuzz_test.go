package envserve_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/envserve"
	"github.com/clustergym/clustergym/internal/must"
)

// script is a connection that sends requests written beforehand and reads the replies.
type script struct {
	io.Reader
	replies bytes.Buffer
}

func (s *script) Write(p []byte) (int, error) { return s.replies.Write(p) }

// FuzzServe sends any bytes as requests, with any bytes in the memory. Every whole request has one reply, and the server ends
// without an error unless the last request is cut.
func FuzzServe(f *testing.F) {
	request := func(numbers ...uint32) (b []byte) {
		for _, n := range numbers {
			b = binary.LittleEndian.AppendUint32(b, n)
		}
		return b
	}
	f.Add(request(1, 3, 2, 0, 3, 0, 3, 1, 5, 7, 3, 0, 6, 0), bytes.Repeat([]byte{1}, 256), uint8(0))
	f.Add(request(1, 3, 2, 0, 3, 1, 3, 1, 4, 0, 2, 0), bytes.Repeat([]byte{1, 0, 0, 0}, 64), uint8(1))
	f.Add(request(1, 1, 9, 9, 3, 0), []byte{255}, uint8(2))
	f.Fuzz(func(t *testing.T, requests, memory []byte, mode uint8) {
		const most = 64 // requests, so that an input does not take long
		requests = requests[:min(len(requests), most*8)]
		s := must.Get(envserve.New(envserve.Config{Envs: environments(t, 2), Autoreset: env.Autoreset(mode % 3), Workers: 1}))(t)
		shared := make([]byte, s.Size())
		must.Do(t, s.Attach(shared))
		copy(shared[:4*64], memory) // the four arrays that the parent writes
		conn := &script{Reader: bytes.NewReader(requests)}
		if err := s.Serve(conn, conn); err != nil != (len(requests)%8 != 0) || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%d bytes of requests: %v", len(requests), err)
		}
		replies := 0
		for b := conn.replies.Bytes(); len(b) > 0; replies++ {
			status, n := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
			if status > 1 || len(b) < 8+int(n) {
				t.Fatalf("a reply with status %d of %d bytes, %d are there", status, n, len(b)-8)
			}
			b = b[8+n:]
		}
		if replies != len(requests)/8 {
			t.Fatalf("%d replies to %d requests", replies, len(requests)/8)
		}
	})
}

// FuzzRestore restores environments from any bytes, which must not panic; what is restored can be saved.
func FuzzRestore(f *testing.F) {
	f.Add([]byte(`[{"seed":1,"episode":2,"steps":"AAEAAQ=="},{"seed":3}]`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, saved []byte) {
		s := must.Get(envserve.New(envserve.Config{Envs: environments(t, 2), Workers: 1}))(t)
		must.Do(t, s.Attach(make([]byte, s.Size())))
		if s.Restore(saved[:min(len(saved), 1<<12)]) != nil {
			return
		}
		conn := &script{Reader: bytes.NewReader([]byte{1, 0, 0, 0, envserve.Protocol, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0})}
		must.Do(t, s.Serve(conn, conn))
		if text := conn.replies.Bytes(); text[len(text)-1] != ']' {
			t.Fatalf("saved: %s", text)
		}
	})
}
