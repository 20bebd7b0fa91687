{{/* A component's volumes: certificates and authorities, the llm-proxy's configuration, and those of the values. */}}
{{- define "parley.mounts" -}}
{{- $root := .root -}}
{{- if and $root.Values.mtls.enabled .mtls }}
- name: tls
  mountPath: /etc/parley/tls
  readOnly: true
{{- end }}
{{- if and .schema $root.Values.database.tls.ca.existingSecret }}
- name: database-ca
  mountPath: /etc/parley/database-ca
  readOnly: true
{{- end }}
{{- if and (eq .name "llm-proxy") (include "parley.llmConfigMapName" $root) }}
- name: llm-config
  mountPath: /etc/parley/llm
  readOnly: true
{{- end }}
{{- if $root.Values.caBundle.existingConfigMap }}
- name: ca-bundle
  mountPath: /etc/parley/ca-bundle
  readOnly: true
{{- end }}
{{- with (include "parley.pod" . | fromJson).extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "parley.volumes" -}}
{{- $root := .root -}}
{{- if and $root.Values.mtls.enabled .mtls }}
- name: tls
  secret:
    secretName: {{ include "parley.name" . }}-tls
    {{- /* 0440 in decimal: YAML 1.2 parsers read 0440 as 440. */}}
    defaultMode: 288
{{- end }}
{{- with $root.Values.database.tls.ca }}
{{- if and $.schema .existingSecret }}
- name: database-ca
  secret:
    secretName: {{ .existingSecret }}
    items:
      - key: {{ .key }}
        path: ca.crt
{{- end }}
{{- end }}
{{- if eq .name "llm-proxy" }}
{{- with include "parley.llmConfigMapName" $root }}
- name: llm-config
  configMap:
    name: {{ . }}
{{- end }}
{{- end }}
{{- with $root.Values.caBundle }}
{{- if .existingConfigMap }}
- name: ca-bundle
  configMap:
    name: {{ .existingConfigMap }}
    items:
      - key: {{ .key }}
        path: ca.crt
{{- end }}
{{- end }}
{{- with (include "parley.pod" . | fromJson).extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The name of the ConfigMap with the llm-proxy's configuration, or nothing if there is none. */}}
{{- define "parley.llmConfigMapName" -}}
{{- if .Values.llmProxy.existingConfigMap -}}
{{ .Values.llmProxy.existingConfigMap }}
{{- else if .Values.llmProxy.config -}}
{{ include "parley.name" (dict "root" . "name" "llm-proxy") }}
{{- end -}}
{{- end -}}
