{{/* The matchers of this installation's series. The Prometheus operator sets the label `namespace`, and the PodMonitor sets the label `release`. */}}
{{- define "parley.seriesMatchers" -}}
namespace="{{ .Release.Namespace }}", release="{{ .Release.Name }}"
{{- end -}}

{{/*
Limits an expression of files/alerts.yaml to this installation: (dict "root" $ "expr" …). Parley's series are parley_…, parley:…, nodejs_…,
process_…, up, and OpenTelemetry's histograms gen_ai_…. Some labels are named gen_ai_… too, so the pattern requires a histogram's suffix such as _bucket.
The platform's series (kube_…, container_…) have no label `release`. In their expressions, this template replaces `namespace=~".+"` with a
matcher of the release's namespace, and the prefix `parley-` of object names with the installation's full name and a hyphen.
*/}}
{{- define "parley.installationExpr" -}}
{{- $selector := printf "${1}{%s, ${2}}" (include "parley.seriesMatchers" .root) -}}
{{- $name := include "parley.fullname" .root | replace "." "[.]" -}}
{{- $expr := regexReplaceAll `\b(parley[_:][\w:]+|gen_ai_\w+_(?:bucket|count|sum)|nodejs_\w+|process_\w+|up)\b(?:\{([^}]*)\})?` .expr $selector | replace ", }" "}" -}}
{{- $expr | replace `namespace=~".+"` (printf `namespace="%s"` .root.Release.Namespace) | replace `=~"parley-` (printf `=~"%s-` $name) -}}
{{- end -}}

{{/* Limits a dashboard to this installation and gives it a uid, title and tag of its own: (dict "root" $ "json" …). */}}
{{- define "parley.installationDashboard" -}}
{{- $installation := printf "%s/%s" .root.Release.Namespace .root.Release.Name -}}
{{- $matchers := include "parley.seriesMatchers" .root | replace `"` `\"` -}}
{{- $dashboard := .json | replace `namespace=~\"$namespace\"` $matchers | fromJson -}}
{{- $_ := set $dashboard "uid" (printf "%s-%s" $dashboard.uid ($installation | sha256sum | trunc 12)) -}}
{{- $_ := set $dashboard "title" (printf "%s (%s)" $dashboard.title $installation) -}}
{{- $_ := set $dashboard "tags" (append $dashboard.tags $installation) -}}
{{- range $dashboard.links }}{{ $_ := set . "tags" (list $installation) }}{{ end -}}
{{- $variables := list -}}
{{- range $dashboard.templating.list }}{{ if ne .name "namespace" }}{{ $variables = append $variables . }}{{ end }}{{ end -}}
{{- $_ := set $dashboard.templating "list" $variables -}}
{{- toPrettyJson $dashboard -}}
{{- end -}}
