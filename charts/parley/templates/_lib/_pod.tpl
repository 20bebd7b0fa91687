{{/* The value `pod`, overridden by the component's own value `pod`, as JSON. */}}
{{- define "parley.pod" -}}
{{- mergeOverwrite (deepCopy .root.Values.pod) (default dict .values.pod) | toJson -}}
{{- end -}}

{{/*
The pod spec of a component, without its containers. All pods comply with the Pod Security Standard "restricted".
A component is (dict "root" $ "name" "quota" "values" .Values.quota), with "schema" if it has a database and "mtls" if it has a certificate.
"spread" spreads its pods over zones and nodes. "mountsToken" mounts the token of its service account.
*/}}
{{- define "parley.podSpec" -}}
{{- $pod := include "parley.pod" . | fromJson -}}
serviceAccountName: {{ include "parley.name" . }}
automountServiceAccountToken: {{ default false .mountsToken }}
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  {{- with $pod.runAsUser }}
  runAsUser: {{ . | int }}
  runAsGroup: {{ . | int }}
  fsGroup: {{ . | int }}
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with $pod.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $pod.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pod.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pod.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if and $pod.topologySpread .spread }}
topologySpreadConstraints:
  {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: {{ $pod.topologySpreadWhenUnsatisfiable }}
    {{- if eq $pod.topologySpreadWhenUnsatisfiable "DoNotSchedule" }}
    # Ignores nodes whose taints the pods do not tolerate. Otherwise maxSkew would count such a node as having no pods and leave further pods pending.
    nodeTaintsPolicy: Honor
    {{- end }}
    labelSelector:
      matchLabels:
        {{- include "parley.selectorLabels" $ | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- end }}
{{- with $pod.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pod.extraInitContainers }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "parley.volumes" . | trim }}
volumes:
  {{- . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The fields envFrom and volumeMounts of a component's container. Expects a component. */}}
{{- define "parley.containerExtras" -}}
{{- with (include "parley.pod" . | fromJson).envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "parley.mounts" . | trim }}
volumeMounts:
  {{- . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "parley.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "parley.podMeta" -}}
{{- $pod := include "parley.pod" . | fromJson -}}
labels:
  {{- include "parley.labels" . | nindent 2 }}
  {{- with $pod.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- $annotations := deepCopy $pod.annotations }}
{{- if and (eq .name "llm-proxy") .root.Values.llmProxy.config }}
{{- $_ := set $annotations "checksum/llm-config" (toYaml .root.Values.llmProxy.config | sha256sum) }}
{{- end }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
