{{/* A service's Deployment. The service defines its environment in "parley.<name>.env". */}}
{{- define "parley.deployment" -}}
{{- /* Seconds for closing after the drain: a service needs at most 30 s, and 5 s are a margin before the kubelet kills it. */}}
{{- $closeSeconds := 35 -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "parley.name" . }}
  labels:
    {{- include "parley.labels" . | nindent 4 }}
spec:
  {{- with include "parley.replicas" . }}
  replicas: {{ . }}
  {{- end }}
  revisionHistoryLimit: 5
  minReadySeconds: 5
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 0
      maxSurge: {{ include "parley.maxSurgePercent" . }}%
  selector:
    matchLabels:
      {{- include "parley.selectorLabels" . | nindent 6 }}
  template:
    metadata:
      {{- include "parley.podMeta" . | nindent 6 }}
    spec:
      {{- include "parley.podSpec" (merge (dict "spread" true) .) | nindent 6 }}
      terminationGracePeriodSeconds: {{ add .values.preStopSeconds .values.drainSeconds $closeSeconds }}
      containers:
        - name: {{ .name }}
          image: {{ include "parley.image" . }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          terminationMessagePolicy: FallbackToLogsOnError
          securityContext:
            {{- include "parley.containerSecurity" . | nindent 12 }}
          env:
            {{- include "parley.serviceEnv" . | nindent 12 }}
            {{- include (printf "parley.%s.env" .name) . | nindent 12 }}
            {{- with .values.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          ports:
            {{- range $port, $number := include "parley.ports" .name | fromJson }}
            - name: {{ $port }}
              containerPort: {{ $number }}
            {{- end }}
          {{- include "parley.probes" . | nindent 10 }}
          lifecycle:
            preStop:
              sleep:
                seconds: {{ .values.preStopSeconds }}
          resources:
            {{- toYaml .values.resources | nindent 12 }}
          {{- with include "parley.containerExtras" . | trim }}
          {{- . | nindent 10 }}
          {{- end }}
        {{- with (include "parley.pod" . | fromJson).extraContainers }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end -}}
