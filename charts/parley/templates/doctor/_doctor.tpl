{{/* The annotations of the resources of `helm test`. Helm deletes them after a successful test and before the next one. */}}
{{- define "parley.doctor.hook" -}}
helm.sh/hook: test
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded,hook-failed
{{- end -}}

{{/* Parley's public URL. */}}
{{- define "parley.doctor.url" -}}
{{- if .Values.doctor.url -}}
{{ .Values.doctor.url }}
{{- else if .Values.ingress.enabled -}}
{{ ternary "https" "http" (not (empty .Values.ingress.tls)) }}://{{ first .Values.ingress.hosts }}
{{- else if and .Values.httpRoute.enabled .Values.httpRoute.hostnames -}}
https://{{ first .Values.httpRoute.hostnames }}
{{- end -}}
{{- end -}}

{{- define "parley.doctor.from" -}}{{- end -}}

{{/* Egress to any address: inside the cluster, the network plugin may translate the public address to any address and port of the ingress. */}}
{{- define "parley.doctor.to" -}}
- {}
{{- end -}}

{{- define "parley.doctor.notes" }}

To check that streams reach visitors without buffering:

{{ if .Values.doctor.publicKey }}  helm --namespace {{ .Release.Namespace }} test {{ .Release.Name }} --logs
{{- else }}  helm --namespace {{ .Release.Namespace }} upgrade {{ .Release.Name }} <CHART> --reuse-values --timeout 15m --set doctor.publicKey=<KEY> --set doctor.origin=<ORIGIN>
  helm --namespace {{ .Release.Namespace }} test {{ .Release.Name }} --logs
{{- end }}
{{- end }}
