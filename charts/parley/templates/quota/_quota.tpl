{{/* The quota service's environment, ingress rules (from) and egress rules (to): see _lib/_deployment.tpl and _lib/_network.tpl. */}}

{{- define "parley.quota.env" -}}
{{ include "parley.databaseEnv" . }}
{{- include "parley.adminSsoEnv" .root }}
{{- end -}}

{{- define "parley.quota.from" -}}
{{ include "parley.fromCallers" (dict "root" .root "callers" (list "edge" "conversation") "port" "grpc") }}
{{- include "parley.fromOpsClients" . }}
{{- include "parley.fromConsole" (dict "root" .root "port" "ops") }}
{{- end -}}

{{- define "parley.quota.to" -}}
{{ include "parley.toDatabase" .root }}
{{- include "parley.adminToSso" . }}
{{- end -}}
