{{- define "parley.autoscaler" -}}
{{- if .values.autoscaling.enabled -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ include "parley.name" . }}
  labels:
    {{- include "parley.labels" . | nindent 4 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ include "parley.name" . }}
  minReplicas: {{ .values.autoscaling.minReplicas }}
  maxReplicas: {{ .values.autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: {{ .values.autoscaling.cpuUtilization }}
    {{- if .values.autoscaling.streamsPerPod }}
    - type: Pods
      pods:
        metric:
          name: parley_streams_open
        target:
          type: AverageValue
          averageValue: {{ .values.autoscaling.streamsPerPod | quote }}
    {{- end }}
  behavior:
    # A pod that goes takes minutes to drain its streams: go slowly.
    scaleDown:
      stabilizationWindowSeconds: 600
      policies:
        - type: Pods
          value: 1
          periodSeconds: 120
{{- end }}
{{- end -}}

{{- define "parley.disruptionBudget" -}}
{{- $replicas := ternary .values.autoscaling.minReplicas .values.replicas .values.autoscaling.enabled | int -}}
{{- if and .values.podDisruptionBudget.enabled (gt $replicas 1) -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "parley.name" . }}
  labels:
    {{- include "parley.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ .values.podDisruptionBudget.maxUnavailable }}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "parley.selectorLabels" . | nindent 6 }}
{{- end }}
{{- end -}}
