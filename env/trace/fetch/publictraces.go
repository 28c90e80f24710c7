// Package fetch gets the public traces from the repositories that publish them, checks them and puts them where scenarios look
// for them. It is told which commits to get, so the same files come every time.
package fetch

import "fmt"

// Set is a folder of traces.
type Set struct {
	Folder  string // below traces/ in the shared folder
	About   string
	Licence string
	Cite    string
	Authors string // where the authors publish the whole data
	Files   []File
}

// File is one file of a set: rows of a published file, or the published files of an archive.
type File struct {
	Name   string   // in the folder; ends in .csv.gz or .tar.gz
	Source string   // OWNER/REPOSITORY/COMMIT/PATH of the published file; with Parts, of their folder
	Parts  []string // names of the files in an archive, nil if the file is none
	keep   *keep    // which rows are kept; nil for all
	// sum is the SHA-256 of the unpacked rows that are kept. For an archive it is that of "NAME BYTES\n" and the content of each
	// part, in the order of names.
	sum string
}

// keep says which rows of a file are kept: those whose column lies between two values.
type keep struct {
	column      string
	above, till string // above < value < till, as text; "" for no limit
	below       float64
}

const (
	ccBy    = "CC BY 4.0"
	repack  = "DIR-LAB/Gen-Parallel-Workloads/c1b61aa993df914b57e7be002e649c3718386e65/"
	serving = "alibaba/ServeGen/f891d1189eb32b3868dfc443800c4150548c282a/data/"
	openb   = "hkust-adsl/kubernetes-scheduler-simulator/8f3d6417353c5083c6d56617f255fadd8dc306bc/data/csv/"
)

// Sets lists what Fetch can get. docs/data-sources.md says more of each.
func Sets() []Set {
	pods := &keep{column: "creation_time", below: 12096000}
	return []Set{
		{
			"helios-venus-2020-06", "SenseTime Helios, cluster Venus: 15,000 consecutive jobs of 2020", ccBy,
			"Hu et al., SC 2021; Soundar Raj et al., JSSPP 2024", "https://github.com/S-Lab-System-Group/HeliosData",
			[]File{{
				Name: "helios_data_training.csv.gz", Source: repack + "Helios/training_data/helios_data_training.csv",
				sum: "042b2648eb850b8fbfa9a686a743e7dbe0ea7dbab1e4e0887bb39c755f7e44fa",
			}},
		}, {
			"philly-2017-allstatus", "Microsoft Philly: the first 15,000 GPU jobs, all end statuses", ccBy,
			"Jeon et al., ATC 2019; Soundar Raj et al., JSSPP 2024", "https://github.com/msr-fiddle/philly-traces",
			[]File{{
				Name: "philly_data_training.csv.gz", Source: repack + "Philly/training_data/philly_data_training.csv",
				sum: "98d2ca0f525309a4d2a3d6b9996cf9b79f3e656e8c47bdc94a7d12b4a7a192c0",
			}},
		}, {
			"philly-2017-pass", "Microsoft Philly: completed jobs of 40 days, with virtual clusters", ccBy,
			"Jeon et al., ATC 2019; Qiao et al., OSDI 2021", "https://github.com/msr-fiddle/philly-traces",
			[]File{{
				Name: "philly.csv.gz", Source: "petuum/adaptdl/c793c7089bd307462686339d29707925c461f9a9/simulator/traces/philly.csv",
				keep: &keep{column: "timestamp", above: "2017-10-04 00:33:40", till: "2017-11-13 00:00:00"},
				sum:  "980327adfa824aad89cfe5a7aa171cbc912420346b312d87caf80d55c7617b72",
			}},
		}, {
			"acme-kalos-2023", "Shanghai AI Laboratory Acme, cluster Kalos: 229 jobs of large language models", ccBy,
			"Hu et al., NSDI 2024", "https://github.com/InternLM/AcmeTrace",
			[]File{{
				Name:   "converted_kalos_trace.csv.gz",
				Source: "hyunnnchoi/AcmeTrace/30f09c6809393f07d43b238a5c98b432962d9b6d/data/converted_trace/converted_kalos_trace.csv",
				keep:   &keep{column: "arrival_time", below: 5184000},
				sum:    "e6eb50cc4c3c1485c35ca98fb14a4d68a3f4a58191eea15cb1f92f129cf980dc",
			}},
		}, {
			"alibaba-openb-2023", "Alibaba cluster-trace-gpu-v2023: pods that share GPUs, and the nodes", "Apache-2.0",
			"Weng et al., ATC 2023", "https://github.com/alibaba/clusterdata",
			[]File{
				{
					Name: "openb_pod_list_default.csv.gz", Source: openb + "openb_pod_list_default.csv", keep: pods,
					sum: "5d2133df99b6238139518251b9eddcf21a01f74427ed1b62d2463a28947939bd",
				}, {
					Name: "openb_pod_list_gpuspec33.csv.gz", Source: openb + "openb_pod_list_gpuspec33.csv", keep: pods,
					sum: "d7e4d5a66e6725f4862cfddc134e9161f1212ca1358733023a12fc3a59cbf4c3",
				}, {
					Name: "openb_node_list_all_node.csv.gz", Source: openb + "openb_node_list_all_node.csv",
					sum: "5a85c2af79c66a1efff8bbcbda430400aae56d8431370d738480967e1a9c6b15",
				}, {
					Name: "openb_node_list_gpu_node.csv.gz", Source: openb + "openb_node_list_gpu_node.csv",
					sum: "2beca64b4d3dfa342036a34b56a495c6cef9225db836c81f541282cb1df320b5",
				},
			},
		}, {
			"servegen-llm-2025", "Alibaba Cloud Model Studio: request rates of inference", "Apache-2.0",
			"Xiang et al., arXiv:2505.09999", "https://github.com/alibaba/ServeGen",
			[]File{
				{
					Name: "language_m-large_traces.tar.gz", Source: serving + "language/m-large", Parts: chunks(162),
					sum: "bb77e4d67944e2c56ed59ed7b31aa7fc8898b5fcde05812b37ad7d7c12bd89ef",
				}, {
					Name: "language_m-small_traces.tar.gz", Source: serving + "language/m-small", Parts: chunks(43),
					sum: "ba5ee52634c8c0c0366ea0f90626545587faa33ccdd34f8c211ab4b02d4dadb9",
				}, {
					Name: "reason_deepseek-r1_traces.tar.gz", Source: serving + "reason/deepseek-r1", Parts: chunks(73),
					sum: "684f2762d4dad1b4e78bc2e14c4f8479b20d019967eeecdf2f1fea721dda6541",
				},
			},
		},
	}
}

// chunks returns the names of the first n files of a service.
func chunks(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("chunk-%d-trace.csv", i)
	}
	return names
}
