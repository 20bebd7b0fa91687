{{/* Parley's public URL; empty if the values do not contain it. */}}
{{- define "parley.doctor.url" -}}
{{- if .Values.doctor.url -}}
{{ .Values.doctor.url }}
{{- else if .Values.ingress.enabled -}}
{{ ternary "https" "http" (not (empty .Values.ingress.tls)) }}://{{ first .Values.ingress.hosts }}
{{- else if and .Values.httpRoute.enabled .Values.httpRoute.hostnames -}}
https://{{ first .Values.httpRoute.hostnames }}
{{- end -}}
{{- end -}}

{{/* Ingress rules of the doctor's pods: none. The empty template must exist, because "parley.networkPolicy" includes "parley.<name>.from". */}}
{{- define "parley.doctor.from" -}}{{- end -}}

{{/* Egress to any address: inside the cluster, the network plugin may translate Parley's public address to any address and port of the ingress controller. */}}
{{- define "parley.doctor.to" -}}
- {}
{{- end -}}

{{- define "parley.doctor.notes" }}

To check that streams reach visitors without buffering{{ if not .Values.doctor.publicKey }}, set doctor.publicKey and doctor.origin in your values file, upgrade, and run{{ end }}:

  helm --namespace {{ .Release.Namespace }} test {{ .Release.Name }} --logs
{{- end }}
