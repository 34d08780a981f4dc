"""Documents of every kind, made by hand: small, whole, and each with the words `thalweg heron`."""

import io
import struct
import zipfile
import zlib

WORDS = "thalweg heron"

_OFFICE = "http://schemas.openxmlformats.org"
_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/'
    'content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-'
    'package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
    "{parts}</Types>"
)
_PART = (
    '<Override PartName="/{name}" ContentType="application/vnd.openxmlformats-officedocument.'
    '{kind}+xml"/>'
)
_RELS = (
    f'<?xml version="1.0"?><Relationships xmlns="{_OFFICE}/package/2006/relationships">'
    "{rels}</Relationships>"
)
_REL = (
    f'<Relationship Id="rId{{n}}" Type="{_OFFICE}/officeDocument/2006/relationships/{{kind}}"'
    ' Target="{target}"/>'
)


def packed(files: dict[str, str | bytes], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Pack files into a ZIP archive, in their order."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return made.getvalue()


def pdf(text: str = WORDS, *, extra: bytes = b"") -> bytes:
    """Make a PDF of one page."""
    content = f"BT /F1 24 Tf 72 720 Td ({text}) Tj ET".encode("latin-1")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
            b" /Resources << /Font << /F1 5 0 R >> >> >>"
        ),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    return _pdf_of(objects, extra)


def _pdf_of(objects: list[bytes], extra: bytes = b"") -> bytes:
    made, places = bytearray(b"%PDF-1.4\n" + extra), []
    for number, body in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    at = len(made)
    made += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    made += b"".join(b"%010d 00000 n \n" % place for place in places)
    made += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        at,
    )
    return bytes(made)


def docx(text: str = WORDS, more: dict[str, str | bytes] | None = None) -> bytes:
    """Make a Word document of one paragraph and a table of two cells."""
    space = f'xmlns:w="{_OFFICE}/wordprocessingml/2006/main"'
    cells = "".join(
        f"<w:tc><w:p><w:r><w:t>{cell}</w:t></w:r></w:p></w:tc>" for cell in ("left", "right")
    )
    body = (
        f'<?xml version="1.0"?><w:document {space}><w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p>'
        f"<w:tbl><w:tr>{cells}</w:tr></w:tbl></w:body></w:document>"
    )
    part = _PART.format(name="word/document.xml", kind="wordprocessingml.document.main")
    rel = _REL.format(n=1, kind="officeDocument", target="word/document.xml")
    return packed(
        {
            "[Content_Types].xml": _TYPES.format(parts=part),
            "_rels/.rels": _RELS.format(rels=rel),
            "word/document.xml": body,
            **(more or {}),
        }
    )


def xlsx(text: str = WORDS) -> bytes:
    """Make a workbook of one sheet with two cells."""
    space = f'xmlns="{_OFFICE}/spreadsheetml/2006/main"'
    links = f'xmlns:r="{_OFFICE}/officeDocument/2006/relationships"'
    parts = _PART.format(name="xl/workbook.xml", kind="spreadsheetml.sheet.main")
    parts += _PART.format(name="xl/worksheets/sheet1.xml", kind="spreadsheetml.worksheet")
    return packed(
        {
            "[Content_Types].xml": _TYPES.format(parts=parts),
            "_rels/.rels": _RELS.format(
                rels=_REL.format(n=1, kind="officeDocument", target="xl/workbook.xml")
            ),
            "xl/workbook.xml": f'<?xml version="1.0"?><workbook {space} {links}><sheets>'
            '<sheet name="Birds" sheetId="1" r:id="rId1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": _RELS.format(
                rels=_REL.format(n=1, kind="worksheet", target="worksheets/sheet1.xml")
            ),
            "xl/worksheets/sheet1.xml": f'<?xml version="1.0"?><worksheet {space}><sheetData>'
            f'<row r="1"><c r="A1" t="inlineStr"><is><t>{text}</t></is></c>'
            '<c r="B1"><v>42</v></c></row></sheetData></worksheet>',
        }
    )


def pptx(text: str = WORDS) -> bytes:
    """Make a presentation of one slide."""
    main = f'xmlns:p="{_OFFICE}/presentationml/2006/main" xmlns:a="{_OFFICE}/drawingml/2006/main"'
    links = f'xmlns:r="{_OFFICE}/officeDocument/2006/relationships"'
    parts = _PART.format(name="ppt/presentation.xml", kind="presentationml.presentation.main")
    parts += _PART.format(name="ppt/slides/slide1.xml", kind="presentationml.slide")
    return packed(
        {
            "[Content_Types].xml": _TYPES.format(parts=parts),
            "_rels/.rels": _RELS.format(
                rels=_REL.format(n=1, kind="officeDocument", target="ppt/presentation.xml")
            ),
            "ppt/presentation.xml": f'<?xml version="1.0"?><p:presentation {main} {links}>'
            '<p:sldIdLst><p:sldId id="256" r:id="rId1"/></p:sldIdLst></p:presentation>',
            "ppt/_rels/presentation.xml.rels": _RELS.format(
                rels=_REL.format(n=1, kind="slide", target="slides/slide1.xml")
            ),
            "ppt/slides/slide1.xml": f'<?xml version="1.0"?><p:sld {main}><p:cSld><p:spTree><p:sp>'
            f"<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp></p:spTree>"
            "</p:cSld></p:sld>",
        }
    )


def odt(text: str = WORDS) -> bytes:
    """Make an OpenDocument text of one paragraph."""
    urn = "urn:oasis:names:tc:opendocument:xmlns"
    space = f'xmlns:office="{urn}:office:1.0" xmlns:text="{urn}:text:1.0"'
    return packed(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f'<?xml version="1.0"?><office:document-content {space}><office:body>'
            f"<office:text><text:p>{text}</text:p></office:text></office:body>"
            "</office:document-content>",
            "META-INF/manifest.xml": "<manifest/>",
        }
    )


def png(width: int = 1, height: int = 1) -> bytes:
    """Make an image of black pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\0" * width) * height)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )


def lying_zip(size: int = 1_000_000, said: int = 10) -> bytes:
    """Make an archive that declares its contents to be small."""
    made = bytearray(packed({"a.txt": b"\0" * size}))
    for signature, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = made.index(signature) + at
        made[place : place + 4] = struct.pack("<I", said)
    return bytes(made)


SAMPLES: dict[str, bytes] = {
    "report.pdf": pdf(),
    "letter.docx": docx(),
    "birds.xlsx": xlsx(),
    "talk.pptx": pptx(),
    "notes.odt": odt(),
    "page.html": f"<html><body><h1>Hi</h1><p>{WORDS}</p></body></html>".encode(),
    "table.csv": f"a,b\n1,{WORDS}\n".encode(),
    "mail.eml": f"From: a@b.example\r\nSubject: hi\r\n\r\n{WORDS}\r\n".encode(),
    "old.rtf": b"{\\rtf1\\ansi " + WORDS.encode() + b"}",
}
"""One of each kind of which text is made."""
