package intake

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"
)

// inUTF16 returns text as PowerShell writes it to a file.
func inUTF16(text string, order binary.AppendByteOrder, mark bool) string {
	if mark {
		text = "\ufeff" + text
	}
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

// endedPod is a pod that leaves no trace.
var endedPod = strings.Replace(kubePod("ended", 1, "n", "", ""), "Running", "Failed", 1)

// TestShapesOfLists checks that it does not matter how the objects of a cluster are put into lists, values and bytes.
func TestShapesOfLists(t *testing.T) {
	n, p := kubeNode("n", 8, ""), kubePod("größe", 2, "n", "", "")
	bare := func(object string) string { return strings.Replace(object, `"kind":"Pod",`, "", 1) }
	for name, text := range map[string]string{
		"one list":                  kubeList(n, p),
		"two lists":                 kubeList(n) + "\n" + kubeList(p),
		"lists without a gap":       kubeList(n) + kubeList(p),
		"objects, one a line":       n + "\n" + p + "\n",
		"a list and an object":      kubeList(n) + p,
		"a list of objects":         "[" + n + "," + p + "]",
		"a list of lists":           "[" + kubeList(n) + "," + kubeList(p) + "]",
		"a list within a list":      kubeList(kubeList(n), kubeList(p)),
		"a list of one kind":        n + `{"items":[` + bare(p) + `],"apiVersion":"v1","kind":"PodList"}`,
		"an empty list":             `{"kind":"ServiceList","items":null}` + kubeList(n, p) + `{"kind":"List"}`,
		"items without a kind":      `{"items":[` + n + "," + p + `]}`,
		"a byte order mark":         "\ufeff" + kubeList(n, p),
		"UTF-16 of PowerShell":      inUTF16(kubeList(n, p), binary.LittleEndian, true),
		"UTF-16, big end first":     inUTF16(kubeList(n, p), binary.BigEndian, true),
		"UTF-16 without a mark":     inUTF16(kubeList(n, p), binary.LittleEndian, false),
		"UTF-16, big, without mark": inUTF16(kubeList(n, p), binary.BigEndian, false),
	} {
		r, err := readKubectl(text)
		check(t, name, r, err, "a/größe 2/2@n:[0 1]")
	}
	r, err := readKubectl(n)
	check(t, "a single node", r, err, "", "nodes with GPUs, and no pods in the input (kubectl get nodes,pods -A): all their GPUs count as free: 1, for example n")
	q := `{"items":[` + strings.Replace(localQueue("q", "one"), `"kind":"LocalQueue","apiVersion":"kueue.x-k8s.io/v1beta2",`, "", 1) +
		`],"kind":"LocalQueueList","apiVersion":"kueue.x-k8s.io/v1beta2"}`
	r, err = readKubectl(kubeList(n, queueIn("one", "", 4, ""), workloadOf("w", "q", "", ""), endedPod) + q)
	check(t, "a list of the server's own", r, err, "a/w 4/2")
}

func TestTextsThatAreNoLists(t *testing.T) {
	n := kubeNode("n", 8, "")
	for _, c := range []struct{ text, want string }{
		{"", "pods.json: empty, want JSON, as kubectl get -o json"},
		{"\ufeff \n", "pods.json: empty, want JSON"},
		{inUTF16("", binary.LittleEndian, true), "pods.json: empty, want JSON"},
		{"apiVersion: v1\nitems:\n- kind: Node\n", "pods.json: line 1: YAML (apiVersion: v1), want JSON, as kubectl get -o json"},
		{"\n---\nkind: Node\n", "pods.json: line 2: YAML (---), want JSON"},
		{"- kind: Node\n", "YAML (- kind: Node)"},
		{inUTF16("apiVersion: v1\n", binary.LittleEndian, true), "YAML (apiVersion: v1)"},
		{"NAME   STATUS   ROLES\nn1   Ready   <none>\n", "pods.json: line 1: NAME   STATUS   ROLES, want JSON, as kubectl get -o json"},
		{"\x1b[1mNAME", `pods.json: line 1: \x1b[1mNAME, want JSON`},
		{"\x1f\x8b\x08\x00\x00", `pods.json: line 1: \x1f`},
		{kubeList(n)[:200], "pods.json: line 2: items[0].status.allocatable: unexpected EOF: the text is cut off, want all that was printed"},
		{kubeList(n) + kubeList(n)[:20], "line 2: unexpected EOF: the text is cut off"},
		{kubeList(n) + " 7", "pods.json: line 2: text: 7, want an object"},
		{kubeList(n) + ",", "line 2: invalid character ','"},
		{`{"items":7}`, "items: 7, want a list"},
		{`{"kind":"PodList","items":{}}`, "items: {}}, want a list"},
		{`{"metadata":{}}`, "items: missing, want a list, as kubectl get -o json prints, or an object with a kind"},
		{`{"kind":"Status","status":"Failure","message":"nodes is forbidden"}`, "message: nodes is forbidden, want objects: kubectl could not get them"},
		{`[7]`, "[0]: 7, want an object"},
		{`[[[[` + n + `]]]]`, "[0][0][0]: [{"},
		{strings.Repeat(`{"items":[`, 5000), "the text is cut off"},
		{strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "want objects, or lists at most 3 deep"},
	} {
		if _, err := readKubectl(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80q: %v, want %s", c.text, err, c.want)
		}
	}
}
