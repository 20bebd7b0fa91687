{{/* The llm-proxy's environment, ingress rules (from) and egress rules (to): see _lib/_deployment.tpl and _lib/_network.tpl. */}}

{{- define "parley.llm-proxy.env" -}}
{{ include "parley.databaseEnv" . }}
{{- if include "parley.llmConfigMapName" .root }}
- name: LLM_CONFIG
  value: /etc/parley/llm/llm.yaml
{{- end }}
{{- range $env, $value := dict "DEFAULT_MODEL" .values.defaultModel "OPENAI_BASE_URL" .values.openaiBaseUrl "OLLAMA_HOST" .values.ollamaHost "PROVIDER_PROXY" .values.providerProxy }}
{{- with $value }}
- name: {{ $env }}
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- include "parley.egressEnv" .root }}
{{- include "parley.adminSsoEnv" .root }}
{{- end -}}

{{- define "parley.llm-proxy.from" -}}
{{ include "parley.fromCallers" (dict "root" .root "callers" (list "edge" "conversation") "port" "grpc") }}
{{- include "parley.fromOpsClients" . }}
{{- end -}}

{{- define "parley.llm-proxy.to" -}}
{{ include "parley.toDatabase" .root }}
{{ include "parley.toInternet" (dict "root" .root "name" .name "proxies" (list .root.Values.egressProxy .values.providerProxy)) | trim }}
{{- include "parley.adminToSso" . }}
{{- with .root.Values.networkPolicy.providers }}
{{ toYaml . }}
{{- end }}
{{- end -}}
