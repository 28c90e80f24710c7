package export

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/internal/onnx"
)

// Names of the model's inputs, of its output and of their dimensions.
const (
	onnxServer    = "server"  // float32 [servers, Shape.Server]
	onnxJob       = "job"     // float32 [jobs, Shape.Job]
	onnxCandidate = "offer"   // float32 [candidates, Shape.Candidate]
	onnxWeights   = "weights" // float32 [candidates, servers]: Observation.Shares, 0 elsewhere
	onnxOf        = "of"      // int64 [candidates], -1 for none
	onnxBids      = "bids"    // float32 [candidates], before any candidate was carried out
	onnxFactors   = "factors" // float32 [candidates, Shape.Rank], with Shape.Joint

	onnxServers, onnxJobs, onnxCandidates = "servers", "jobs", "offers"
)

// model returns the network of a policy, whose bundle was made already, as an ONNX model. It computes what agents.Net computes,
// including the coordination graph, for any numbers of servers, of jobs (0 too) and of candidates (1 or more). There is no
// normaliser: features are ratios as observed. The model's metadata contains what else a decision needs, such as the prior and
// the margin; all its keys begin with "clustergym.". Equal policies give equal bytes.
func model(p *agents.Policy, b *checkpoints.Bundle) ([]byte, error) {
	meta, err := metadata(p, b)
	if err != nil {
		return nil, fmt.Errorf("write ONNX model of %s: %w", p.Name, err)
	}
	a := &actor{shape: p.Shape, params: p.Params}
	a.build()
	return a.Model("actor", "Bids for offers. The highest logit wins: the bid, less the margin for all but the prior's own choice.",
		"clustergym", meta), nil
}

func metadata(p *agents.Policy, b *checkpoints.Bundle) ([]onnx.Meta, error) {
	h := sha256.New()
	if err := checkpoints.WriteTensors(h, b.Tensors, nil); err != nil {
		return nil, err
	}
	var kinds []string
	last := candidates.Narrow
	if p.Wide.Items > 0 {
		last = candidates.Kinds
	}
	for k := range candidates.Kind(last) {
		kinds = append(kinds, k.String())
	}
	meta := []onnx.Meta{
		{Key: "schema_version", Value: strconv.Itoa(checkpoints.BundleSchema)},
		{Key: "network", Value: b.Manifest.Architecture.Choices["network"]},
		{Key: "name", Value: p.Name},
		{Key: "prior", Value: p.Prior},
		{Key: "margin", Value: strconv.FormatFloat(p.Margin, 'g', -1, 64)},
		{Key: "window", Value: strconv.Itoa(p.Window)},
		{Key: "offer_kinds", Value: strings.Join(kinds, ",")},
		{Key: "weights_sha256", Value: hex.EncodeToString(h.Sum(nil))},
		{Key: "policy_digest", Value: p.Digest()},
	}
	// Global features are appended to those of every server and of every job.
	seen := &b.Manifest.Features
	for _, table := range []struct {
		key  string
		list []checkpoints.Feature
	}{
		{onnxServer, slices.Concat(seen.Server, seen.Global)},
		{onnxJob, slices.Concat(seen.Job, seen.Global)},
		{onnxCandidate, seen.Offer},
	} {
		text, err := json.Marshal(table.list)
		if err != nil {
			return nil, err
		}
		meta = append(meta, onnx.Meta{Key: "features." + table.key, Value: string(text)})
	}
	for i := range meta {
		meta[i].Key = "clustergym." + meta[i].Key
	}
	return meta, nil
}
