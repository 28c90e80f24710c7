{{- define "clustergym.selector" -}}
app.kubernetes.io/name: clustergym
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "clustergym.labels" -}}
{{ include "clustergym.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* Whether metrics leave the pod: they need both a certificate and a token. */}}
{{- define "clustergym.metrics" -}}
{{- with .Values.metrics -}}
{{- if and .tlsSecret .tokenSecret -}}
true
{{- else if or .tlsSecret .tokenSecret -}}
{{- fail "metrics: want both tlsSecret and tokenSecret, or neither" -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* Where the policy comes from: the folder of the bundle if there is one. */}}
{{- define "clustergym.policy" -}}
{{- if or .Values.bundle.existingClaim .Values.bundle.configMap .Values.bundle.secret -}}
/etc/clustergym/policy
{{- else -}}
{{ .Values.policy }}
{{- end }}
{{- end }}
