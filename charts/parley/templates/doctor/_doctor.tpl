{{/* The pod of `helm test`, which exists only during the test. */}}
{{- define "parley.doctor.hook" -}}
helm.sh/hook: test
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded,hook-failed
{{- end -}}

{{/* The public address. */}}
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

{{/* Egress to any address: the network plugin decides to which address and port of the ingress a public address leads inside the cluster. */}}
{{- define "parley.doctor.to" -}}
- {}
{{- end -}}

{{- define "parley.doctor.notes" }}

To see whether streams reach them as they should:

{{ if .Values.doctor.publicKey }}  helm --namespace {{ .Release.Namespace }} test {{ .Release.Name }} --logs
{{- else }}  helm --namespace {{ .Release.Namespace }} upgrade {{ .Release.Name }} <CHART> --reuse-values --timeout 15m --set doctor.publicKey=<KEY> --set doctor.origin=<ORIGIN>
  helm --namespace {{ .Release.Namespace }} test {{ .Release.Name }} --logs
{{- end }}
{{- end }}
