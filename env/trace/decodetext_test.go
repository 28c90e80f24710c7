package trace

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
	"golang.org/x/text/encoding/unicode"
)

// TestFilesOfOtherPrograms checks that how a program writes a table does not matter: its encoding, separators, line ends, quotes,
// capitals and an index.
func TestFilesOfOtherPrograms(t *testing.T) {
	const plain = "job_id,num_gpu,submit_time,duration,user\n7,2,5,60,zoë\n8,1,9,90,bob\n"
	want := must.Get(readText(plain, Options{}))(t)
	utf16 := func(e unicode.Endianness, mark unicode.BOMPolicy) string {
		return must.Get(unicode.UTF16(e, mark).NewEncoder().String(plain))(t)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	archive := tar.NewWriter(z)
	archive.WriteHeader(&tar.Header{Name: "dir/", Typeflag: tar.TypeDir, Mode: 0o755})
	archive.WriteHeader(&tar.Header{Name: "dir/jobs.csv", Typeflag: tar.TypeReg, Size: int64(len(plain)), Mode: 0o644})
	archive.Write([]byte(plain))
	archive.Close()
	z.Close()
	wide := strings.Builder{}
	for i := range 5000 {
		fmt.Fprintf(&wide, ",metric_%d_of_the_node", i)
	}
	for name, c := range map[string]struct {
		text    string
		columns Columns
	}{
		"UTF-8 with a mark":               {"\ufeff" + plain, nil},
		"UTF-16, little end first":        {utf16(unicode.LittleEndian, unicode.UseBOM), nil},
		"UTF-16, big end first":           {utf16(unicode.BigEndian, unicode.UseBOM), nil},
		"UTF-16 without a mark":           {utf16(unicode.LittleEndian, unicode.IgnoreBOM), nil},
		"UTF-16, big, without a mark":     {utf16(unicode.BigEndian, unicode.IgnoreBOM), nil},
		"gzip of a tar":                   {packed.String(), nil},
		"semicolons":                      {strings.ReplaceAll(plain, ",", ";"), nil},
		"tabs":                            {strings.ReplaceAll(plain, ",", "\t"), nil},
		"bars":                            {strings.ReplaceAll(plain, ",", "|"), nil},
		"carriage returns":                {strings.ReplaceAll(plain, "\n", "\r\n"), nil},
		"no line end at the end":          {strings.TrimSpace(plain), nil},
		"quotes":                          {strings.ReplaceAll("\""+strings.ReplaceAll(strings.TrimSpace(plain), ",", "\",\""), "\n", "\"\n\"") + "\"\n", nil},
		"capitals and spaces":             {strings.Replace(plain, "job_id,num_gpu,submit_time,duration,user", " Job ID ,NumGPU,Submit-Time,DURATION,User", 1), nil},
		"an index":                        {",job_id,num_gpu,submit_time,duration,user\n0,7,2,5,60,zoë\n1,8,1,9,90,bob\n", nil},
		"an index of an index":            {"Unnamed: 0.1,Unnamed: 0,job_id,num_gpu,submit_time,duration,user\n0,0,7,2,5,60,zoë\n1,1,8,1,9,90,bob\n", nil},
		"an index and semicolons":         {";job_id;num_gpu;submit_time;duration;user\n0;7;2;5;60;zoë\n1;8;1;9;90;bob\n", nil},
		"a separator at the end":          {"job_id,num_gpu,submit_time,duration,user,\n7,2,5,60,zoë,\n8,1,9,90,bob,\n", nil},
		"a line that names the separator": {"sep=;\n" + strings.ReplaceAll(plain, ",", ";"), nil},
		"thousands of columns": {"id,num_gpu,submit_time,duration,user" + wide.String() + "\n7,2,5,60,zoë" + strings.Repeat(",1", 5000) +
			"\n8,1,9,90,bob" + strings.Repeat(",", 5000) + "\n", Columns{"job_id=id"}},
	} {
		w, err := readText(c.text, Options{Columns: c.columns})
		if err != nil || len(w.Jobs) != 2 || w.Jobs[0] != want.Jobs[0] || w.Jobs[1] != want.Jobs[1] {
			t.Errorf("%s: %v, %+v", name, err, w.Jobs)
		}
	}
}

// TestFilesThatAreNoText checks that the error about a file of another kind names the kind and what to type.
func TestFilesThatAreNoText(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"PK\x03\x04xxxx", "t.csv: this is a zip archive or an Excel workbook, want text, plain or gzip: unpack it"},
		{"PAR1\x15\x04\x15", "a Parquet file, want text, plain or gzip: convert it, such as with pandas.read_parquet"},
		{"\x28\xb5\x2f\xfd1234", "packed by zstd, want text, plain or gzip: unpack it with zstd -d"},
		{"\xff\xfe\x00\x00j\x00\x00\x00", "text in UTF-32"},
		{"job_id\tnum_gpu\tsubmit_time\tduration\n\"7\"x\t2\t5\t60\n", `t.csv:2: "x\t2\t5\t60" follows a quoted field, want a tab`},
		{"job_id,num_gpu\ra,1\r", "lines end with carriage returns alone: convert them with tr"},
		{"job_id,num_gpu,submit_time,duration,user\n1,1,0,1,Jos\xe9\n", `t.csv:2: column "user": value "Jos\xe9", want UTF-8: if the file is Latin-1`},
		{"Job_ID,job-id,num_gpu,submit_time,duration\n", `header "Job_ID,job-id,num_gpu,submit_time,duration" is none of`},
		{"job_id,num_gpu,submit_time,duration,Usr\n", `t.csv:1: header has column "Usr", which format native does not know`},
	} {
		if _, err := readText(c.text, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

// FuzzBytes checks that no file makes the reader of text panic, and that it is UTF-8 if the file is UTF-16.
func FuzzBytes(f *testing.F) {
	f.Add([]byte("\xff\xfea\x00,\x00b\x00\n\x00"))
	f.Add([]byte("\xfe\xff\x00a\xd8\x00\x00b"))
	f.Add([]byte("\x1f\x8b"))
	f.Add([]byte("sep=;\na;b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := openBytes(bytes.NewReader(data))
		if err != nil {
			return
		}
		_, h, err := openText(in, Options{MaxLine: 4096, MaxRows: 9})
		if err == nil && len(h.names) == 0 {
			t.Fatal("a header without columns")
		}
	})
}
