{{- define "parley.chartName" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* The prefix of all names. It leaves room for a suffix such as "-conversation-clusterip" within 63 characters. */}}
{{- define "parley.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "parley.chartName" . -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- $full | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The name of a component's Kubernetes objects: (dict "root" $ "name" "edge"). */}}
{{- define "parley.name" -}}
{{ include "parley.fullname" .root }}-{{ .name }}
{{- end -}}

{{- define "parley.clusterIpName" -}}
{{ include "parley.name" . }}-clusterip
{{- end -}}

{{/* A component's DNS name inside the cluster. It is independent of the cluster's domain. */}}
{{- define "parley.host" -}}
{{ include "parley.name" . }}.{{ .root.Release.Namespace }}.svc
{{- end -}}

{{/* The name that Prometheus expects in every service's certificate. Prometheus scrapes pods by IP address, which no certificate contains. */}}
{{- define "parley.opsServerName" -}}
{{ include "parley.host" (dict "root" . "name" "ops") }}
{{- end -}}

{{- define "parley.selectorLabels" -}}
app.kubernetes.io/name: {{ include "parley.chartName" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end -}}

{{- define "parley.labels" -}}
{{ include "parley.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: parley
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "parley.image" -}}
{{- $global := .root.Values.image -}}
{{- $repository := .values.image.repository -}}
{{- if $global.registry }}{{ $repository = printf "%s/%s" $global.registry $repository }}{{ end -}}
{{- if .values.image.digest -}}
{{ printf "%s@%s" $repository .values.image.digest }}
{{- else -}}
{{ printf "%s:%s" $repository (default .root.Chart.AppVersion $global.tag) }}
{{- end -}}
{{- end -}}
