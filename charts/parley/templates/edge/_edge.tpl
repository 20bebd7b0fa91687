{{/* The edge's environment, ingress rules (from) and egress rules (to): see _lib/_deployment.tpl and _lib/_network.tpl. */}}

{{- define "parley.edge.env" -}}
{{- $values := .root.Values -}}
- name: CONVERSATION_TARGET
  value: {{ include "parley.target" (dict "root" .root "name" "conversation") }}
- name: QUOTA_TARGET
  value: {{ include "parley.target" (dict "root" .root "name" "quota") }}
- name: LLM_TARGET
  value: {{ include "parley.target" (dict "root" .root "name" "llm-proxy") }}
{{ include "parley.ssoEnv" .root }}
{{- with .values.trustedProxies }}
- name: TRUSTED_PROXIES
  value: {{ join "," . | quote }}
{{- end }}
- name: MAX_STREAMS
  value: {{ .values.maxStreams | int | quote }}
- name: MAX_STREAMS_PER_CLIENT
  value: {{ .values.maxStreamsPerClient | int | quote }}
- name: DETACHED_REPLY_MS
  value: {{ mul .values.detachedReplySeconds 1000 | quote }}
- name: EDGE_RPC_ADDRESS
  valueFrom:
    fieldRef:
      fieldPath: status.podIP
{{- if $values.mtls.enabled }}
- name: EDGE_RPC_TLS_NAME
  value: {{ include "parley.host" . }}
{{- end }}
{{- include "parley.edge.redisEnv" .root }}
{{- end -}}

{{- define "parley.edge.redisEnv" -}}
{{- with .Values.redis }}
{{- if .enabled }}
{{- if ne .mode "standalone" }}
- name: REDIS_MODE
  value: {{ .mode }}
{{- end }}
{{- if eq .mode "sentinel" }}
- name: REDIS_SENTINEL_MASTER
  value: {{ .sentinelMaster | required "redis.sentinelMaster is empty: name the master that the sentinels monitor" | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "parley.edge.from" -}}
- ports:
    - port: http
      protocol: TCP
  {{- with .root.Values.networkPolicy.visitors }}
  from:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{ include "parley.fromCallers" (dict "root" .root "callers" (list "edge") "port" "rpc") }}
{{- include "parley.fromOpsClients" . }}
{{- include "parley.fromConsole" (dict "root" .root "port" "http") }}
{{- end -}}

{{- define "parley.edge.to" -}}
{{ include "parley.toCallee" (dict "root" .root "callee" "edge" "port" "rpc") }}
{{- range list "conversation" "quota" "llm-proxy" }}
{{ include "parley.toCallee" (dict "root" $.root "callee" . "port" "grpc") }}
{{- end }}
{{ include "parley.edge.toExternal" . | trim }}
{{- end -}}

{{/* Egress to Redis and to the identity provider. */}}
{{- define "parley.edge.toExternal" -}}
{{- $policy := .root.Values.networkPolicy -}}
{{- if .root.Values.redis.enabled }}
{{ include "parley.toPeers" (dict "peers" $policy.redis "port" $policy.redisPort) }}
{{- if eq .root.Values.redis.mode "sentinel" }}
{{ include "parley.toPeers" (dict "peers" $policy.redis "port" $policy.redisSentinelPort) }}
{{- end }}
{{- end }}
{{ include "parley.toSso" . }}
{{- end -}}
