package cli

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/eval/console"
)

// The size of the text of an envPicture.
const (
	pictureWidth  = 100
	pictureHeight = 30
)

// envPicture shows the schedule of an episode until now, as env serve sends it.
type envPicture struct {
	Text  string      `json:"text"`  // "" if no time has passed
	Until float64     `json:"until"` // in seconds since the episode began
	GPUs  []int32     `json:"gpus"`  // of each server
	Boxes []envPicBox `json:"boxes"` // what jobs hold or held
	Names []string    `json:"jobs"`  // names of jobs, by Job of a box
	// Metrics are those of eval: of the whole episode once it is over, until then of what has happened.
	Metrics eval.Metrics `json:"metrics"`
}

// envPicBox is a job on neighbouring GPUs of a server, from one time to another.
type envPicBox struct {
	Job      int     `json:"job"`
	Server   int     `json:"server"`
	GPU      int32   `json:"gpu"`   // the first one
	Count    int32   `json:"count"` // of GPUs
	GPUMilli int32   `json:"gpu_milli"`
	From     float64 `json:"from"`
	To       float64 `json:"to"`
}

// drawEpisode returns the picture of an environment's present episode as JSON.
func drawEpisode(e env.Env) ([]byte, error) {
	c, ok := env.As[*env.Cluster](e)
	if !ok || c.Log() == nil {
		return nil, errors.New("draw episode: no episode of a cluster")
	}
	log := c.Log()
	p := envPicture{Metrics: eval.Measure(log)}
	for _, s := range log.Config.Cluster.Servers {
		p.GPUs = append(p.GPUs, s.GPUs)
	}
	if n := len(log.Records); n > 0 {
		p.Until = log.Records[n-1].At.Seconds()
	}
	if p.Until > 0 {
		var text bytes.Buffer
		if err := console.Gantt(&text, console.Options{Width: pictureWidth, Height: pictureHeight}, log); err != nil {
			return nil, err
		}
		p.Text = text.String()
	}
	for job, stays := range eval.Stays(log) {
		p.Names = append(p.Names, log.Jobs[job].Name)
		for _, stay := range stays {
			for _, b := range stay.Pieces {
				p.Boxes = append(p.Boxes, envPicBox{
					job, int(b.Server), b.GPU, b.Count, b.GPUMilli, stay.From.Seconds(), stay.To.Seconds(),
				})
			}
		}
	}
	return json.Marshal(p)
}
