{{/* Rules that involve several values, which the JSON schema cannot express. */}}
{{- define "parley.validate" -}}
{{- if and (or .Values.ingress.enabled .Values.httpRoute.enabled) (not .Values.edge.trustedProxies) -}}
{{- fail "edge.trustedProxies is empty, so all visitors behind the ingress or gateway would share one rate limit. Set it to the CIDRs from which the ingress or gateway connects." -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) -}}
{{- fail "ingress.hosts is empty. Set it to the public host name." -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.parentRefs is empty. Set it to the Gateway." -}}
{{- end -}}
{{- if and .Values.mtls.enabled .Values.mtls.certManager (not .Values.mtls.issuerRef) -}}
{{- fail "mtls.issuerRef is empty. Set it to the cert-manager issuer, or set mtls.certManager to false and create the Secrets." -}}
{{- end -}}
{{- if and .Values.llmProxy.config .Values.llmProxy.existingConfigMap -}}
{{- fail "llmProxy.config and llmProxy.existingConfigMap are mutually exclusive. Set only one." -}}
{{- end -}}
{{- if .Values.doctor.publicKey -}}
{{- if not .Values.doctor.origin -}}
{{- fail "doctor.origin is empty. Set it to an origin that doctor.publicKey allows." -}}
{{- end -}}
{{- if not (include "parley.doctor.url" .) -}}
{{- fail "doctor.url is empty, and neither ingress nor httpRoute has a host. Set it to the public URL." -}}
{{- end -}}
{{- end -}}
{{- range $name := list "issuer" "audience" "jwksUrl" -}}
{{- if not (get $.Values.sso $name) -}}
{{- fail (printf "sso.%s is empty. The edge needs it to check access tokens; see docs/install/sso.md." $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
