{{- define "parley.llm-proxy.env" -}}
{{ include "parley.databaseEnv" . }}
{{- if include "parley.llmConfigMapName" .root }}
- name: LLM_CONFIG
  value: /etc/parley/llm/llm.yaml
{{- end }}
{{- range $env, $value := dict "DEFAULT_MODEL" .values.defaultModel "OPENAI_BASE_URL" .values.openaiBaseUrl "OLLAMA_HOST" .values.ollamaHost }}
{{- with $value }}
- name: {{ $env }}
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- range .values.apiKeys }}
{{ include "parley.secretEnv" (dict "root" $.root "env" . "secret" $.values.existingSecret) }}
{{- end }}
{{- end -}}

{{- define "parley.llm-proxy.from" -}}
{{ include "parley.fromCallers" (dict "root" .root "callers" (list "edge" "conversation") "port" "grpc") }}
{{- include "parley.fromOpsClients" . }}
{{- end -}}

{{- define "parley.llm-proxy.to" -}}
{{ include "parley.toDatabase" .root }}
{{ include "parley.toInternet" .root }}
{{- with .root.Values.networkPolicy.providers }}
{{ toYaml . }}
{{- end }}
{{- end -}}
