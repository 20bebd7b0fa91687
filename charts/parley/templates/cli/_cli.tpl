{{/* The cli pod's ingress rules (from) and egress rules (to): see _lib/_network.tpl. */}}

{{- define "parley.cli.from" -}}{{- end -}}

{{- define "parley.cli.to" -}}
{{- range list "edge" "conversation" "quota" "llm-proxy" }}
{{ include "parley.toCallee" (dict "root" $.root "callee" . "port" "ops") }}
{{- end }}
{{- end -}}
