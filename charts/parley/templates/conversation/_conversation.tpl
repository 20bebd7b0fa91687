{{/* The conversation service's environment, ingress rules (from) and egress rules (to): see _lib/_deployment.tpl and _lib/_network.tpl. */}}

{{- define "parley.conversation.env" -}}
- name: KEY_PREFIX
  value: {{ .values.keyPrefix }}
- name: QUOTA_TARGET
  value: {{ include "parley.target" (dict "root" .root "name" "quota") }}
- name: LLM_TARGET
  value: {{ include "parley.target" (dict "root" .root "name" "llm-proxy") }}
{{ include "parley.databaseEnv" . }}
{{- include "parley.egressEnv" .root }}
{{- with .values.planModels }}
- name: PLAN_MODELS
  value: {{ toJson . | quote }}
{{- end }}
{{- with .values.costPlans }}
- name: COST_PLANS
  value: {{ join "," . | quote }}
{{- end }}
{{- with .values.ownerToolPlans }}
- name: OWNER_TOOL_PLANS
  value: {{ join "," . | quote }}
{{- end }}
{{- if .values.email.enabled }}
- name: MAIL_FROM
  value: {{ .values.email.from | quote }}
{{- end }}
{{- include "parley.adminSsoEnv" .root }}
{{- end -}}

{{- define "parley.conversation.from" -}}
{{ include "parley.fromCallers" (dict "root" .root "callers" (list "edge") "port" "grpc") }}
{{- include "parley.fromOpsClients" . }}
{{- include "parley.fromConsole" (dict "root" .root "port" "ops") }}
{{- end -}}

{{- define "parley.conversation.to" -}}
{{- range list "quota" "llm-proxy" }}
{{ include "parley.toCallee" (dict "root" $.root "callee" . "port" "grpc") }}
{{- end }}
{{ include "parley.toDatabase" .root }}
{{ include "parley.toInternet" (dict "root" .root "name" .name "proxies" (list .root.Values.egressProxy)) | trim }}
{{- if .values.email.enabled }}
{{ include "parley.toUrl" (dict "root" .root "name" .name "peers" .root.Values.networkPolicy.smtp "url" (printf "smtp://smtp:%d" (int .values.email.port))) | trim }}
{{- end }}
{{- include "parley.adminToSso" . }}
{{- end -}}
