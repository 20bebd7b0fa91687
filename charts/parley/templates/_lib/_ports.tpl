{{/*
The port numbers of a component, as JSON:
- `http`: the public port
- `grpc`: the data plane (gRPC calls from other services)
- `rpc`: the calls between edges
- `ops`: metrics, health and the admin services
*/}}
{{- define "parley.ports" -}}
{{- $ports := dict
  "edge" (dict "http" 8080 "ops" 8081 "rpc" 8088)
  "conversation" (dict "grpc" 8082 "ops" 8083)
  "quota" (dict "grpc" 8084 "ops" 8085)
  "llm-proxy" (dict "grpc" 8086 "ops" 8087)
  "console" (dict "http" 8090 "ops" 8091)
  "cli" dict -}}
{{ get $ports . | toJson }}
{{- end -}}

{{/* A port number: (dict "name" "edge" "port" "http") gives 8080. */}}
{{- define "parley.port" -}}
{{- get (include "parley.ports" .name | fromJson) .port | int -}}
{{- end -}}
