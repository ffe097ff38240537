{{- define "loadaware.name" -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "loadaware.selector" -}}
app.kubernetes.io/name: loadaware
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Labels that select the pods of the server, but not the pod of the migration. */}}
{{- define "loadaware.server" -}}
{{ include "loadaware.selector" . }}
app.kubernetes.io/component: server
{{- end }}

{{- define "loadaware.labels" -}}
{{ include "loadaware.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "loadaware.image" -}}
{{ .Values.image.repository }}{{ ternary "@" ":" (hasPrefix "sha256:" .Values.image.tag) }}{{ .Values.image.tag }}
{{- end }}

{{/*
podSecurity and containerSecurity run a pod without privileges: no root, no capability, no service account
token, no writable file. podSecurity also sets the pull secrets, the node selector and the tolerations.
*/}}
{{- define "loadaware.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "loadaware.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "loadaware.database" -}}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef: {name: {{ .Values.secret.name }}, key: {{ .Values.secret.databaseKey }}}
- name: LOADAWARE_LOG_FORMAT
  value: json
- name: LOADAWARE_LOG_LEVEL
  value: {{ .Values.log.level }}
{{- end }}
