package profile

import "fmt"

// Assumptions about language models.
const (
	languageFLOPS      = 39e12 // sustained by one V100: Megatron-LM (arXiv 1909.08053), abstract and §1
	languageStateBytes = 16    // per parameter: half-precision weights and gradients, Adam's state in single precision
	contextMiB         = 1024  // CUDA context, libraries and buffers
)

// assumption contains what we assume of a family in addition to the fitted coefficients.
type assumption struct {
	name       string
	like       string  // the Gavel job type with the family's interference and GPU speeds; "" if Gavel measured the family
	domain     string  // what the model is for
	synergy    string  // the Synergy model with the family's CPU and memory surface
	pollux     string  // the Pollux application with the family's scaling
	batch      float64 // local batch in the application's samples, before it is limited to the range that Pollux measured
	params     float64 // trained parameters
	tokens     float64 // tokens of one iteration of one replica, language models only
	activation float64 // bytes at a boundary between pipeline stages in one iteration
	layers     int32
}

func (a *assumption) measuredAs() string {
	if a.like == "" {
		return a.name
	}
	return a.like
}

// paramBytes returns the bytes of all parameters: single precision, or half precision for language models.
func (a *assumption) paramBytes() float64 {
	if a.like == "" {
		return 4 * a.params
	}
	return 2 * a.params
}

// model is a model that Gavel measured, with its batch sizes (0: one batch size, which Gavel does not publish).
type model struct {
	name    string
	batches []int
	domain  string
	synergy string
	pollux  string
	params  float64
	width   float64 // numbers per sample in the middle of the model
	layers  int32
}

// models maps Gavel's models to those of Synergy and Pollux and contains their sizes. The mappings are assumptions. resnet18 and
// resnet50 are the same networks in all three (Pollux's cifar10 and imagenet). transformer is a translation model, which Synergy
// finds insensitive to CPU and memory; we let it scale as BERT. lm is an LSTM, in Synergy too; it scales as the recurrent
// deepspeech2. recommendation and a3c use much CPU to prepare their input (shown by their rates on Gavel's P100 server, and by
// the simulators they run), as mobilenet does to a moderate degree. cyclegan is bound by the GPU, as resnet50 mostly is; it
// scales as the convolutional yolov3.
var models = []model{
	// He et al. (arXiv 1512.03385) for CIFAR-10, 11.2M parameters; 128 channels of 16x16 after the second of four stages.
	{"resnet18", []int{16, 32, 64, 128, 256}, "vision", "resnet18", "cifar10", 11.2e6, 128 * 16 * 16, 18},
	// He et al. for ImageNet, 25.6M parameters; 512 channels of 28x28 after the second of four stages.
	{"resnet50", []int{16, 32, 64, 128}, "vision", "resnet50", "imagenet", 25.6e6, 512 * 28 * 28, 50},
	// The base model of Vaswani et al. (arXiv 1706.03762, table 3), 65M parameters; sentences of 32 tokens by assumption.
	{"transformer", []int{16, 32, 64, 128, 256}, "language", "transformer", "bert", 65e6, 32 * 512, 12},
	// PyTorch's example word_language_model on WikiText-2 with its defaults: 33,278 words, width 200 in embedding, decoder
	// and two LSTM layers; 35 words a sample.
	{"lm", []int{5, 10, 20, 40, 80}, "language", "lstm", "deepspeech2", 14.0e6, 35 * 200, 2},
	// An autoencoder over the 26,744 films of MovieLens 20M with 200 hidden units (the Recoder library).
	{"recommendation", []int{512, 1024, 2048, 4096, 8192}, "recommendation", "mobilenet", "ncf", 10.7e6, 200, 2},
	// Four convolutions and an LSTM of 512 units on Pong (rl_a3c_pytorch); 4 workers of 20 steps count as 80 samples.
	{"a3c", []int{0}, "control", "mobilenet", "cifar10", 3.2e6, 80 * 512, 5},
	// Two generators of 11.4M and two discriminators of 2.8M parameters (Zhu et al., arXiv 1703.10593, 9 residual blocks);
	// 256 channels of 64x64 between the blocks; batches of one image.
	{"cyclegan", []int{0}, "vision", "resnet50", "yolov3", 28.3e6, 256 * 64 * 64, 24},
}

// languages lists models too large for Gavel. Their co-location behaviour, and their speed on other GPU types, are those of the
// largest transformer that Gavel measured. Layers, widths and parameters come from the papers; activations have half precision.
var languages = []struct {
	name      string
	params    float64
	sequences float64 // per iteration of one replica, an assumption
	length    float64 // tokens of a sequence
	width     float64
	layers    int32
}{
	{"bert-large", 340e6, 32, 512, 1024, 24}, // Devlin et al., arXiv 1810.04805, §3
	{"gpt2-1.5b", 1542e6, 8, 1024, 1600, 48}, // Radford et al., "Language Models are Unsupervised Multitask Learners", table 2
	{"llama-7b", 6.7e9, 8, 2048, 4096, 32},   // Touvron et al., arXiv 2302.13971, table 2
	{"llama-13b", 13.0e9, 8, 2048, 5120, 40}, // the same
	{"llama-70b", 70e9, 8, 4096, 8192, 80},   // Llama 2, arXiv 2307.09288, table 1
}

var assumptions = assume()

func assume() []assumption {
	var all []assumption
	for _, m := range models {
		for _, batch := range m.batches {
			name, samples := fmt.Sprintf("%s-%d", m.name, batch), float64(batch)
			if batch == 0 {
				name, samples = m.name, 1
			}
			all = append(all, assumption{
				name: name, domain: m.domain, synergy: m.synergy, pollux: m.pollux, batch: samples,
				params: m.params, activation: 4 * samples * m.width, layers: m.layers,
			})
		}
	}
	for _, l := range languages {
		all = append(all, assumption{
			name: l.name, domain: "language",
			like: "transformer-256", synergy: "bert", pollux: "bert", batch: l.sequences, params: l.params,
			tokens: l.sequences * l.length, activation: 2 * l.sequences * l.length * l.width, layers: l.layers,
		})
	}
	return all
}

// GavelJobs returns the names of the job types that Gavel measured, in the catalogue's order.
func GavelJobs() []string {
	var names []string
	for i := range assumptions {
		if assumptions[i].like == "" {
			names = append(names, assumptions[i].name)
		}
	}
	return names
}
