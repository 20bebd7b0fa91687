{{- define "parley.cli.from" -}}{{- end -}}

{{- define "parley.cli.to" -}}
{{- range list "edge" "conversation" "quota" "llm-proxy" }}
{{ include "parley.toCallee" (dict "root" $.root "callee" . "port" "ops") }}
{{- end }}
{{- end -}}
