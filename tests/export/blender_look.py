"""Runs inside of Blender's Python: imports every file of a folder, prints what came in as JSON, renders one picture.

blender_look.py FOLDER FRAMES RATE PICTURE
"""

import json
import sys
from pathlib import Path

import bpy

FOLDER, FRAMES, RATE, PICTURE = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
IMPORT = {
    ".usdc": lambda path: bpy.ops.wm.usd_import(filepath=path),
    ".abc": lambda path: bpy.ops.wm.alembic_import(filepath=path),
    ".glb": lambda path: bpy.ops.import_scene.gltf(filepath=path),
    ".obj": lambda path: bpy.ops.wm.obj_import(filepath=path, forward_axis="Y", up_axis="Z"),
    ".ply": lambda path: bpy.ops.wm.ply_import(filepath=path),
}


def describe(thing):
    """What an object is made of, and where its vertices are in the world at every frame."""
    places = []
    for frame in range(FRAMES):
        bpy.context.scene.frame_set(frame)
        shown = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
        places.append([list(shown.matrix_world @ vertex.co) for vertex in shown.data.vertices])
    bpy.context.scene.frame_set(FRAMES - 1)
    mesh = thing.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    flat = mesh.attributes.get("sharp_face")
    painted = mesh.color_attributes[0].data[0].color if mesh.color_attributes else None
    return {
        "triangles": [list(face.vertices) for face in mesh.polygons],
        "places": places,
        "flat": 0 if flat is None else sum(value.value for value in flat.data),
        "normals": [list(corner.vector) for corner in mesh.corner_normals],
        "materials": [slot.material.name for slot in thing.material_slots],
        "colors": [list(slot.material.diffuse_color[:3]) for slot in thing.material_slots],
        "painted": None if painted is None else list(painted[:3]),
    }


def render():
    """The scene in sunlight, as it is at its last frame."""
    scene = bpy.context.scene
    sun = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
    sun.data.energy, sun.rotation_euler = 3.0, (0.7, 0.3, 0.4)
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    camera.location, camera.rotation_euler = (1.6, -2.2, 1.5), (1.05, 0.0, 0.63)
    for thing in (sun, camera):
        scene.collection.objects.link(thing)
    scene.world = bpy.data.worlds.new("world")
    scene.camera, scene.render.engine, scene.cycles.samples = camera, "CYCLES", 16
    scene.render.resolution_x, scene.render.resolution_y = 480, 360
    scene.render.filepath, scene.render.image_settings.file_format = str(PICTURE), "PNG"
    bpy.ops.render.render(write_still=True)


found = {}
for path in sorted(FOLDER.iterdir()):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = RATE
    IMPORT[path.suffix](str(path))
    meshes = [thing for thing in bpy.data.objects if thing.type == "MESH"]
    found[path.name] = {thing.name: describe(thing) for thing in meshes}
    if path.name == "animated.glb":
        render()
print("FOUND", json.dumps(found))
