package trace

import (
	"fmt"
	"strings"
	"testing"
)

// acting are names with control characters that clear a terminal or reverse the text around them.
var acting = []string{"\x1b[2J", "a\x07", "\u009b2J", "\u202egpj.exe", "\u2066x", "\u200f", "\u061c"}

// TestNamesThatActOnATerminal checks that every column of every format refuses names with control characters, and that the error
// shows them escaped.
func TestNamesThatActOnATerminal(t *testing.T) {
	const native = "job_id,num_gpu,submit_time,duration,user,tenant,model,group,gpu_type\n"
	rows := map[string]string{
		"job_id": "%s,1,0,5,u,t,m,g,", "user": "1,1,0,5,%s,t,m,g,", "tenant": "1,1,0,5,u,%s,m,g,", "model": "1,1,0,5,u,t,%s,g,",
		"group": "1,1,0,5,u,t,m,%s,", "gpu_type": "1,1,0,5,u,t,m,g,%s",
	}
	for _, name := range acting {
		for column, row := range rows {
			_, err := readText(native+fmt.Sprintf(row, name)+"\n", Options{})
			if want := fmt.Sprintf("t.csv:2: column %q: value %q", column, name); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %q: error %v, want %s", column, name, err, want)
			}
		}
		for format, text := range map[Format]string{
			Helios:     "u_id,user,gpu_num,cpu_num,node_num,interval,run_time,wall_time,new_status\n0,%s,1,4,1,0,84,0,Pass\n",
			PhillyPass: "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,%s\n",
		} {
			if _, err := readText(fmt.Sprintf(text, name), Options{Format: format}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) {
				t.Errorf("%s %q: error %v", format, name, err)
			}
		}
		if _, err := parseParams([]byte(strings.Replace(tinyParams, "name: tiny", fmt.Sprintf("name: %q", name), 1))); err == nil ||
			!strings.Contains(err.Error(), fmt.Sprintf("name is %q", name)) {
			t.Errorf("parameters %q: error %v", name, err)
		}
	}
}
