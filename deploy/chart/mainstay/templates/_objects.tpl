{{/*
Returns the objects of one manifest file, with the namespace of this release, under "items". `mainstay render` prints the same files.
*/}}
{{- define "mainstay.objects" -}}
{{- $text := .root.Files.Get .path | replace "mainstay-system" .root.Release.Namespace -}}
{{- $items := list -}}
{{- range splitList "\n---\n" $text -}}
{{- $items = append $items (fromYaml .) -}}
{{- end -}}
{{- dict "items" $items | toYaml -}}
{{- end -}}

{{/*
Returns the image reference: repository@digest, or repository:tag.
*/}}
{{- define "mainstay.image" -}}
{{- if .image.digest -}}
{{- printf "%s@%s" .image.repository .image.digest -}}
{{- else -}}
{{- printf "%s:%s" .image.repository (default .root.Chart.AppVersion .image.tag) -}}
{{- end -}}
{{- end -}}
