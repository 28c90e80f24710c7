package pods

import (
	"slices"
	"strings"
)

// The labels and annotations of groups and of pods that users write for this project's programs.
const (
	GroupLabel     = "scheduling.x-k8s.io/pod-group" // on pods: the name of the group
	MinMemberNote  = "clustergym.dev/min-member"     // pods that must run together, for a group without an object
	MinWorkersNote = "clustergym.dev/min-workers"    // the fewest pods that an elastic gang runs with
	MaxWorkersNote = "clustergym.dev/max-workers"    // the most pods that an elastic gang can use
	EstimateNote   = "clustergym.dev/estimate"       // of the run time, such as 90m or 36h
	ModelNote      = "clustergym.dev/model"          // the family of neural networks that the job trains
)

// The labels and annotations that other projects write on pods.
const (
	jobLabel         = "batch.kubernetes.io/job-name"
	oldJobLabel      = "job-name"
	volcanoNote      = "scheduling.volcano.sh/group-name"
	oldVolcanoNote   = "scheduling.k8s.io/group-name" // of kube-batch; what Volcano writes
	kaiGroupNote     = "pod-group-name"
	kueueGroupLabel  = "kueue.x-k8s.io/pod-group-name"
	kueueTotalNote   = "kueue.x-k8s.io/pod-group-total-count"
	kueueServingNote = "kueue.x-k8s.io/pod-group-serving"        // its pods serve independently of each other
	kueueFastNote    = "kueue.x-k8s.io/pod-group-fast-admission" // Kueue admits it when its first pod exists
	setLabel         = "leaderworkerset.sigs.k8s.io/name"
	setIndexLabel    = "leaderworkerset.sigs.k8s.io/group-index"
	setSizeNote      = "leaderworkerset.sigs.k8s.io/size"
	jobSetLabel      = "jobset.sigs.k8s.io/jobset-name"
	trainingLabel    = "training.kubeflow.org/job-name"

	queueLabel        = "kueue.x-k8s.io/queue-name"         // by users
	localQueueLabel   = "kueue.x-k8s.io/local-queue-name"   // by Kueue
	clusterQueueLabel = "kueue.x-k8s.io/cluster-queue-name" // by Kueue
	workloadNote      = "kueue.x-k8s.io/workload"

	fractionNote     = "gpu-fraction"
	memoryNote       = "gpu-memory"
	devicesNote      = "gpu-fraction-num-devices"
	sharedLabel      = "runai-gpu-group"
	manySharedPrefix = sharedLabel + "/"
	appLabel         = "app"
)

var keys = []string{
	GroupLabel, MinMemberNote, MinWorkersNote, MaxWorkersNote, EstimateNote, ModelNote,
	jobLabel, oldJobLabel, volcanoNote, oldVolcanoNote, kaiGroupNote, kueueGroupLabel, kueueTotalNote,
	kueueServingNote, kueueFastNote, setLabel, setIndexLabel, setSizeNote,
	jobSetLabel, trainingLabel, queueLabel, localQueueLabel, clusterQueueLabel, workloadNote, fractionNote, memoryNote,
	devicesNote, sharedLabel, appLabel,
}

// Reads reports whether the package reads the label or annotation with a key.
func Reads(key string) bool {
	return slices.Contains(keys, key) || strings.HasPrefix(key, manySharedPrefix)
}

// trainingKinds are the owners whose pods train one model together.
var trainingKinds = []string{"PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob", "MXJob"}
