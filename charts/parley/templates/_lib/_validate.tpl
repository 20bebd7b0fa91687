{{/* Rules over several values, which the JSON schema cannot express. */}}
{{- define "parley.validate" -}}
{{- if and (or .Values.ingress.enabled .Values.httpRoute.enabled) (not .Values.edge.trustedProxies) -}}
{{- fail "edge.trustedProxies is empty behind an ingress or gateway: every visitor would share one rate limit. Give the CIDRs that it connects from." -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) -}}
{{- fail "ingress.hosts is empty: give the public host name." -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.parentRefs is empty: name the Gateway to attach to." -}}
{{- end -}}
{{- if and .Values.mtls.enabled .Values.mtls.certManager (not .Values.mtls.issuerRef) -}}
{{- fail "mtls.issuerRef is empty: name the cert-manager issuer, or set mtls.certManager to false and create the Secrets yourself." -}}
{{- end -}}
{{- if and .Values.llmProxy.config .Values.llmProxy.existingConfigMap -}}
{{- fail "set llmProxy.config or llmProxy.existingConfigMap, not both." -}}
{{- end -}}
{{- if .Values.doctor.publicKey -}}
{{- if not .Values.doctor.origin -}}
{{- fail "doctor.origin is empty: give an origin that doctor.publicKey allows." -}}
{{- end -}}
{{- if not (include "parley.doctor.url" .) -}}
{{- fail "doctor.url is empty, and neither ingress nor httpRoute has a host: give the public address." -}}
{{- end -}}
{{- end -}}
{{- range $name := list "issuer" "audience" "jwksUrl" -}}
{{- if not (get $.Values.sso $name) -}}
{{- fail (printf "sso.%s is empty: the edge checks access tokens against your single sign-on; see docs/install/sso.md." $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
